"""Learning a sentencepiece model from counts of words.

sentencepiece reads units with their counts instead of sentences: a unit is a word as `Subwords` encodes it, with a
leading space if one precedes it. Pieces then cannot cross a word's border in any language, and a corpus of any size
is learned from in the memory that its distinct words take.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping

import sentencepiece

from alidade.config import SubwordSettings
from alidade.errors import AlidadeError
from alidade.text.subwords import SPACE
from alidade.text.vocabulary import BOS, EOS, PAD, UNK
from alidade.text.words import split_chunk

NUM_BYTES = 256


def count_units(texts: Iterable[str], language: str) -> Counter[str]:
    """How often each unit occurs in texts, units after a space counted apart from those after another unit."""
    chunks: Counter[str] = Counter()
    for text in texts:
        chunks.update(text.split())
    units: Counter[str] = Counter()
    for chunk, count in chunks.items():
        first, *rest = split_chunk(chunk, language)
        units[f" {first.text}"] += count
        for word in rest:
            units[word.text] += count
    return units


def train_subwords(units: Mapping[str, int], settings: SubwordSettings, threads: int = 4) -> bytes:
    """A sentencepiece model learned from counted units. Fewer pieces than wanted come out of a very small corpus.

    The number of threads becomes part of the model, so it must not depend on the machine.
    """
    learnable = {unit: count for unit, count in units.items() if SPACE not in unit and "\t" not in unit}
    if not learnable:
        raise AlidadeError("there is no text to learn subwords from")
    least = 4 + (NUM_BYTES if settings.byte_fallback else 0)
    if settings.vocabulary_size <= least:
        raise AlidadeError(
            f"subwords.vocabulary_size = {settings.vocabulary_size} is too small: {least} ids are taken by <pad>, <s>, "
            "</s>, <unk>" + (" and the bytes of byte_fallback" if settings.byte_fallback else "")
        )
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            # Sorted, so that the model depends on the counts alone.
            sentence_iterator=(f"{unit}\t{count}" for unit, count in sorted(learnable.items())),
            input_format="tsv",
            model_writer=model,
            model_type=settings.kind,
            vocab_size=settings.vocabulary_size,
            hard_vocab_limit=False,
            character_coverage=settings.character_coverage,
            byte_fallback=settings.byte_fallback,
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            split_by_unicode_script=False,  # the units are words already: "don't" and "%s" may be pieces
            split_by_number=False,
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNK,
            num_threads=threads,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise AlidadeError(f"subwords could not be learned: {error}; see the settings under [subwords]") from None
    return model.getvalue()
