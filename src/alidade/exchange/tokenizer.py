"""Our subwords as `tokenizer.json`, the format of Hugging Face's `tokenizers`.

It segments running text, not words. Since no piece was learned across the border of two words, both ways mostly
agree; where our rules separate two words that are one piece elsewhere, they do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alidade.text.subwords import SPACE

START, END = "<s>", "</s>"
SPECIAL = (START, END, "<unk>", "<pad>")


def tokenizer_json(model: bytes, numbers: Mapping[str, int]) -> dict[str, Any]:
    """Text becomes `<s> … </s>`. model: a sentencepiece model of ours; numbers: all pieces as the matrix has them."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)  # type: ignore[attr-defined]  # made at run time
    scores = {entry.piece: entry.score for entry in proto.pieces if entry.type == entry.NORMAL}
    trainer = proto.trainer_spec
    segment = _bpe if trainer.model_type == trainer.BPE else _unigram
    return {
        "version": "1.0",
        "added_tokens": [_added(piece, numbers[piece]) for piece in SPECIAL],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"},
                {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
                {"type": "Strip", "strip_left": True, "strip_right": True},
            ],
        },
        "pre_tokenizer": {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True},
        "post_processor": _surround(numbers),
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "ByteFallback"},
                {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True},
                {"type": "Fuse"},
            ],
        },
        "model": {**segment(numbers, scores), "byte_fallback": trainer.byte_fallback},
    }


def _added(piece: str, number: int) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": piece, "special": True, **flags}


def _surround(numbers: Mapping[str, int]) -> dict[str, Any]:
    start, end = ({"SpecialToken": {"id": piece, "type_id": 0}} for piece in (START, END))
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    return {
        "type": "TemplateProcessing",
        "single": [start, first, end],
        "pair": [start, first, second, end],
        "special_tokens": {piece: {"id": piece, "ids": [numbers[piece]], "tokens": [piece]} for piece in (START, END)},
    }


def _bpe(numbers: Mapping[str, int], scores: Mapping[str, float]) -> dict[str, Any]:
    """Two pieces are merged in the order in which sentencepiece has learned what they become."""
    ranked = sorted((piece for piece in scores if len(piece) > 1), key=lambda piece: -scores[piece])
    merges = [
        [piece[:cut], piece[cut:]]
        for piece in ranked
        for cut in range(1, len(piece))
        if piece[:cut] in scores and piece[cut:] in scores
    ]
    return {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "vocab": dict(numbers), "merges": merges}


def _unigram(numbers: Mapping[str, int], scores: Mapping[str, float]) -> dict[str, Any]:
    ordered = sorted(numbers, key=lambda piece: numbers[piece])
    vocabulary = [[piece, scores.get(piece, 0.0)] for piece in ordered]
    return {"type": "Unigram", "unk_id": numbers["<unk>"], "vocab": vocabulary}
