"""Another program's vocabulary as ours: its pieces under our numbers, its sentencepiece models with the same pieces.

Marian's matrices have a row for `</s>`, `<unk>` and each piece, in the order of a vocabulary file; Hugging Face's have
one more, for `<pad>`. Text is segmented by sentencepiece, whose numbers mean nothing: one model for each side, and
often one vocabulary over both. Ours number `<pad>`, `<s>`, `</s>` and `<unk>` from 0 to 3, and the sentencepiece model
numbers as the matrix does. So the models' pieces are put into another order, which does not change how they segment:
scores do that. A piece that only the other side's model has becomes a "control" piece with a mark, which no text
matches. A piece of a model that is not in the vocabulary is unknown to the matrix: it gets a row like that of `<unk>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from alidade.errors import AlidadeError
from alidade.text.subwords import OTHER_SIDE
from alidade.text.vocabulary import BOS, EOS, PAD, UNK

Floats = npt.NDArray[np.float32]
SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
NEVER = -1e3
"""The output bias of what is never written: it leaves no probability in float32. One of -1e9 would not fit into
float16, and would fill the loss of training with label smoothing, which spreads probability over all pieces."""
UNKNOWN_PENALTY = 30.0
"""How much less likely than `<unk>` a piece outside of the vocabulary is: further training can change that."""
_NOTHING = -1


@dataclass(frozen=True, slots=True)
class JoinedVocabulary:
    """Our numbers for another program's pieces."""

    pieces: tuple[str, ...]
    models: tuple[bytes, ...]
    """The sentencepiece models, numbered in this way."""
    rows: npt.NDArray[np.int64]
    """(V,) the row of each of our pieces in the other program's matrices; -1 where there is none."""
    is_outside: npt.NDArray[np.bool_]
    """(V,) the pieces that are not in the other program's vocabulary."""
    num_rows: int
    """Of the other program's matrices."""

    def embeddings(self, matrix: Floats, start: int | None = None) -> Floats:
        """(rows, D) -> (V, D). start: the row that the decoder starts from; nothing if None."""
        ours: Floats = np.where(self.rows[:, None] == _NOTHING, np.float32(0), matrix[self.rows]).astype(np.float32)
        ours[BOS] = 0.0 if start is None else matrix[start]
        return ours

    def biases(self, vector: Floats, start: int | None = None) -> Floats:
        """(rows,) -> (V,). `<pad>` and `<s>` are never written, but a model that has them gives them probability."""
        ours: Floats = np.where(self.rows == _NOTHING, np.float32(NEVER), vector[self.rows]).astype(np.float32)
        ours[self.is_outside] -= np.float32(UNKNOWN_PENALTY)
        if start != self.rows[BOS]:  # the row that the decoder starts from is another piece's, or nobody's
            ours[BOS] = NEVER
        return ours


def join_vocabulary(pieces: Sequence[str], models: Sequence[Path]) -> JoinedVocabulary:
    """One vocabulary. pieces: in the order of the other program's rows; models: the sentencepiece files over it."""
    row_of = {piece: row for row, piece in enumerate(pieces)}
    if len(row_of) != len(pieces):
        raise AlidadeError("the vocabulary has the same piece twice")
    for special in (SPECIAL[EOS], SPECIAL[UNK]):
        if special not in row_of:
            raise AlidadeError(f"the vocabulary has no {special}, which every model of Marian has")
    protos = [_read_model(path) for path in models]
    known = [piece for piece in pieces if piece not in SPECIAL]
    used = dict.fromkeys(entry.piece for proto in protos for entry in proto.pieces if _is_segment(entry))
    outside = [piece for piece in used if piece not in row_of and piece not in SPECIAL]
    ours = (*SPECIAL, *known, *outside)
    unknown = row_of[SPECIAL[UNK]]
    rows = [*[row_of.get(piece, _NOTHING) for piece in SPECIAL], *[row_of[piece] for piece in known]]
    return JoinedVocabulary(
        ours,
        tuple([_renumber(proto, ours) for proto in protos]),
        np.array(rows + [unknown] * len(outside)),
        np.arange(len(ours)) >= len(rows),
        len(pieces),
    )


def _read_model(path: Path) -> Any:
    from google.protobuf.message import DecodeError
    from sentencepiece import sentencepiece_model_pb2

    if not path.is_file():
        raise AlidadeError(f"{path}: is missing; a model's sentencepiece files say how text becomes pieces")
    proto = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]  # made at run time
    try:
        proto.ParseFromString(path.read_bytes())
    except DecodeError:
        raise AlidadeError(f"{path}: not a sentencepiece model") from None
    if not proto.pieces:
        raise AlidadeError(f"{path}: not a sentencepiece model")
    if not proto.normalizer_spec.add_dummy_prefix or not proto.normalizer_spec.escape_whitespaces:
        raise AlidadeError(f"{path}: add_dummy_prefix = false and escape_whitespaces = false are not supported")
    if proto.trainer_spec.treat_whitespace_as_suffix:
        raise AlidadeError(f"{path}: treat_whitespace_as_suffix = true is not supported")
    return proto


def sentencepiece_order(path: Path) -> list[str]:
    """The pieces of a sentencepiece model in its own order: what Marian numbers by if it is its vocabulary."""
    return [entry.piece for entry in _read_model(path).pieces]


def for_running_text(model: bytes) -> bytes:
    """A sentencepiece model of ours for programs that give it whole texts; the other side's pieces are left out."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)  # type: ignore[attr-defined]  # made at run time
    own = [entry for entry in proto.pieces if not entry.piece.startswith(OTHER_SIDE)]
    del proto.pieces[:]
    proto.pieces.extend(own)
    proto.trainer_spec.vocab_size = len(own)
    proto.normalizer_spec.add_dummy_prefix = proto.normalizer_spec.remove_extra_whitespaces = True
    serialised: bytes = proto.SerializeToString(deterministic=True)
    return serialised


def _is_segment(entry: Any) -> bool:
    """Whether text may be segmented into this piece."""
    return entry.type in (entry.NORMAL, entry.USER_DEFINED, entry.BYTE)


def _renumber(model: Any, pieces: Sequence[str]) -> bytes:
    """The same sentencepiece model with these pieces in this order."""
    proto = type(model)()
    proto.CopyFrom(model)
    own = {entry.piece: entry for entry in model.pieces if _is_segment(entry) or entry.type == entry.UNUSED}
    del proto.pieces[:]
    for number, piece in enumerate(pieces):
        entry = proto.pieces.add()
        if number >= len(SPECIAL) and piece in own:
            entry.CopyFrom(own[piece])
        else:
            entry.piece, entry.score = piece if number < len(SPECIAL) else OTHER_SIDE + piece, 0.0
            entry.type = entry.UNKNOWN if number == UNK else entry.CONTROL
    trainer = proto.trainer_spec
    trainer.pad_id, trainer.bos_id, trainer.eos_id, trainer.unk_id = PAD, BOS, EOS, UNK
    trainer.pad_piece, trainer.bos_piece, trainer.eos_piece, trainer.unk_piece = SPECIAL
    trainer.vocab_size = len(pieces)
    if "self_test_data" in proto.DESCRIPTOR.fields_by_name:  # not in all versions of sentencepiece
        proto.ClearField("self_test_data")  # it speaks of the old numbers
    serialised: bytes = proto.SerializeToString(deterministic=True)
    return serialised
