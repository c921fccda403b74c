"""Subwords: one side's sentencepiece model, from raw text to pieces and exactly back.

Text is encoded unit by unit (`text/words.py`), so no piece crosses a word's border; a unit's first piece starts
with "▁" if white space, or the sentence's start, precedes it. Joining the pieces therefore gives the text back to
the letter, whatever its language, as long as its words stand apart by single spaces (`normalise.normalise_text`).
The model is learned from the counts of these units (`corpus/encode.py`).

Models that other programs have learned (`exchange/`) know running text instead: a piece may hold a word and its comma.
They put a space before every text, which ours do not, and that is how they are told apart. They are given whole texts,
in sentencepiece's own way ("raw"), and a piece belongs to the word in which its first character stands.
"""

from __future__ import annotations

import bisect
import codecs
import functools
import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

import regex
import sentencepiece

from alidade.errors import AlidadeError
from alidade.io import open_bytes, write_aside
from alidade.text.vocabulary import BOS, EOS, PAD, UNK
from alidade.text.words import Word, split_chunk, split_words

SPACE = "▁"
"""How pieces write a space."""
OTHER_SIDE = "\U0010fffd"
"""Marks a piece that only the other side's model uses, in one vocabulary over two; no text has this character."""
UNKNOWN_TEXT = "⁇"
"""What `<unk>` says when it is read."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """A text, its words and its pieces, and which piece belongs to which word.

    This mapping carries alignments, dictionary matches and pictures between what people see and what models see.
    """

    text: str
    words: tuple[Word, ...]
    pieces: tuple[str, ...]
    ids: tuple[int, ...]
    word_of_piece: tuple[int, ...]
    """For each piece the number of its word; never falls."""

    def pieces_of_word(self, word: int) -> range:
        """The pieces of a word: never empty.

        A model that writes freely may put two words into one piece, and models of running text have such pieces; that
        piece counts as both words'.
        """
        first = bisect.bisect_left(self.word_of_piece, word)
        end = bisect.bisect_right(self.word_of_piece, word)
        return range(first, end) if first < end else range(max(first - 1, 0), max(first, 1))

    def __len__(self) -> int:
        return len(self.ids)


class Subwords:
    """One side's pieces: a sentencepiece model and the language whose words it is used for."""

    def __init__(self, model: bytes, language: str) -> None:
        self.model = model
        self.language = language
        self._processor = _load_processor(model)
        self.is_raw: bool = self._processor.normalize("a").startswith(SPACE)
        """Whether the model segments running text, not single units."""
        self.vocabulary_size: int = self._processor.get_piece_size()
        self._pieces: list[str] = [
            self._processor.id_to_piece(i).removeprefix(OTHER_SIDE) for i in range(self.vocabulary_size)
        ]
        self._bytes = {i: int(self._pieces[i][3:5], 16) for i in self._ids_where(self._processor.is_byte)}
        self._byte_ids = {byte: i for i, byte in self._bytes.items()}
        # Pieces of the other side's model are "control" pieces of this one, too.
        self._silent = frozenset({PAD, BOS, EOS} if self.is_raw else self._ids_where(self._processor.is_control))
        self._segment_short = functools.lru_cache(maxsize=1 << 17)(self._segment)
        self._encode_short_chunk = functools.lru_cache(maxsize=1 << 16)(self._encode_chunk)

    @classmethod
    def load(cls, path: Path, language: str) -> Self:
        """Read a sentencepiece model file."""
        with open_bytes(path) as file:
            model = file.read()
        try:
            return cls(model, language)
        except (RuntimeError, ValueError):  # damaged as a whole, or in its pieces
            raise AlidadeError(f"{path}: not a sentencepiece model") from None

    def save(self, path: Path) -> None:
        """Write the sentencepiece model file."""
        with write_aside(path, "wb") as file:
            file.write(self.model)

    def __reduce__(self) -> tuple[type[Self], tuple[bytes, str]]:
        return type(self), (self.model, self.language)

    def __len__(self) -> int:
        return self.vocabulary_size

    @property
    def fingerprint(self) -> str:
        """Changes with the model and the language, and with nothing else."""
        return hashlib.sha256(self.model + self.language.encode()).hexdigest()

    @functools.cached_property
    def spelling_ids(self) -> dict[str, int]:
        """The ids of the pieces that spell text (`<s>`, `<unk>` and bytes do not).

        Of the pieces that byte-pair encoding puts together from others, those with lower ids come first.
        """
        special = {UNK, *self._silent, *self._bytes}
        return {piece: i for i, piece in enumerate(self._pieces) if i not in special}

    def piece(self, piece_id: int) -> str:
        """How a piece is written, "▁Haus"."""
        return self._pieces[piece_id]

    def encode(self, text: str, *, after_space: bool = True) -> Encoding:
        """The words and pieces of a text.

        after_space: whether the text follows a space, or starts a sentence; a phrase in the middle of a Chinese
        sentence does not.
        """
        if self.is_raw:
            return self._encode_raw(text, text, split_words(text, self.language), after_space=after_space)
        words: list[Word] = []
        ids: list[int] = []
        word_of_piece: list[int] = []
        for chunk in _CHUNK.finditer(text):
            start, first_word = chunk.start(), len(words)
            encoded = self._encode_any_chunk(chunk[0], after_space or first_word > 0)
            words += [Word(unit, start + begin, start + end) for unit, begin, end in encoded.words]
            ids += encoded.ids
            word_of_piece += [first_word + word for word in encoded.word_of_piece]
        return self._encoding(text, words, ids, word_of_piece)

    def encode_ids(self, text: str) -> tuple[list[int], list[int]]:
        """Only the ids and words of the pieces of `encode`, for whole corpora: several times as fast."""
        if self.is_raw:
            encoding = self.encode(text)
            return list(encoding.ids), list(encoding.word_of_piece)
        ids: list[int] = []
        word_of_piece: list[int] = []
        num_words = 0
        for chunk in text.split():
            encoded = self._encode_any_chunk(chunk, True)
            ids += encoded.ids
            word_of_piece += [num_words + word for word in encoded.word_of_piece]
            num_words += len(encoded.words)
        return ids, word_of_piece

    def encode_words(
        self, texts: Sequence[str], *, after_space: bool = True, spaces: Sequence[bool] | None = None
    ) -> Encoding:
        """Encode words that are split already, in the way that `encode` does.

        spaces: for each word whether a space stands before it; None: before all of them, `after_space` the first.
        """
        spaces = [after_space, *[True] * len(texts)] if spaces is None else spaces
        if self.is_raw:
            return self._encode_raw_words(texts, spaces)
        words: list[Word] = []
        ids: list[int] = []
        word_of_piece: list[int] = []
        start = 0
        for number, text in enumerate(texts):
            pieces = self._segment_any(f" {text}" if spaces[number] else text)
            words.append(Word(text, start, start + len(text)))
            ids += pieces
            word_of_piece += [number] * len(pieces)
            start += len(text) + 1
        return self._encoding(" ".join(texts), words, ids, word_of_piece)

    def decode(self, ids: Sequence[int]) -> Encoding:
        """The text, words and pieces of any ids: whatever a model may write can be read.

        Bytes that are no UTF-8 come out as replacement characters, `<s>` and its like as nothing. A piece belongs to
        the word in which its first character stands; a piece without one goes with the piece after it.
        """
        text, starts = self._read(ids)
        words = split_words(text, self.language)
        if ids and not words:
            words = (Word("", 0, 0),)  # pieces that say nothing still belong to a word
        return self._encoding(text, words, ids, _words_at(words, starts))

    def _encode_raw(self, text: str, running_text: str, words: Sequence[Word], *, after_space: bool) -> Encoding:
        """A text in sentencepiece's own way. words: of the running text, in its places."""
        if not words:
            return self._encoding(text, (), (), ())
        running_text = _without_surrogates(running_text)
        processor = self._processor if after_space else self._gluing_processor
        ids: list[int] = []
        starts: list[int | None] = []
        place_of = _places_of_bytes(running_text)
        for piece in processor.encode_as_proto(running_text).pieces:
            visible = _VISIBLE.search(running_text, place_of[piece.begin], place_of[piece.end])
            # The model does not know a character, but the vocabulary may, from the other side.
            ids.append(self.spelling_ids.get(piece.piece, UNK) if piece.id == UNK else piece.id)
            starts.append(None if visible is None else visible.start())
        if not ids:  # characters that the model takes for nothing
            ids, starts = [UNK], [None]
        return self._encoding(text, words, ids, _words_at(words, starts))

    def _encode_raw_words(self, texts: Sequence[str], spaces: Sequence[bool]) -> Encoding:
        spaced = [f" {text}" if has_space else text for text, has_space in zip(texts, spaces, strict=False)]
        running_text = "".join(spaced)
        words = _words_ending_at(texts, itertools.accumulate(map(len, spaced)))
        encoding = self._encode_raw(" ".join(texts), running_text, words, after_space=bool(spaces and spaces[0]))
        apart = itertools.accumulate([len(text) + (number > 0) for number, text in enumerate(texts)])
        return replace(encoding, words=_words_ending_at(texts, apart))

    @functools.cached_property
    def _gluing_processor(self) -> sentencepiece.SentencePieceProcessor:
        """A raw model that puts no space before a text."""
        processor = sentencepiece.SentencePieceProcessor(model_proto=self.model)
        processor.override_normalizer_spec(add_dummy_prefix=False)
        return processor

    def _encoding(self, text: str, words: Sequence[Word], ids: Sequence[int], word_of_piece: Sequence[int]) -> Encoding:
        pieces = self._pieces
        return Encoding(text, tuple(words), tuple([pieces[i] for i in ids]), tuple(ids), tuple(word_of_piece))

    def _encode_any_chunk(self, chunk: str, after_space: bool) -> _Chunk:
        if len(chunk) <= _REMEMBERED_LENGTH:
            return self._encode_short_chunk(chunk, after_space)
        return self._encode_chunk(chunk, after_space)

    def _encode_chunk(self, chunk: str, after_space: bool) -> _Chunk:
        words = split_chunk(chunk, self.language)
        ids: list[int] = []
        word_of_piece: list[int] = []
        for number, word in enumerate(words):
            pieces = self._segment_any(f" {word.text}" if after_space and number == 0 else word.text)
            ids += pieces
            word_of_piece += [number] * len(pieces)
        return _Chunk(words, tuple(ids), tuple(word_of_piece))

    def _segment_any(self, unit: str) -> tuple[int, ...]:
        return self._segment_short(unit) if len(unit) <= _REMEMBERED_LENGTH else self._segment(unit)

    def _segment(self, unit: str) -> tuple[int, ...]:
        """The pieces of one unit, with a leading space if one precedes it."""
        unit = _without_surrogates(unit)
        if SPACE in unit:
            return self._spell(unit)
        ids: list[int] = self._processor.encode(unit, out_type=int)
        return tuple(ids) or (UNK,)

    def _spell(self, unit: str) -> tuple[int, ...]:
        """A unit with the character ▁ itself, which would be read as a space: that character goes in bytes."""
        ids: list[int] = []
        for part in regex.splititer(f"({SPACE})", unit):
            if part == SPACE:
                ids += [self._byte_ids.get(byte, UNK) for byte in SPACE.encode()]
            elif part:
                ids += self._processor.encode(part, out_type=int)
        return tuple(ids)

    def _read(self, ids: Sequence[int]) -> tuple[str, list[int | None]]:
        """The text of pieces, and for each piece the place of its first character that is no space."""
        text = ""
        starts: list[int | None] = []
        for is_byte, run in itertools.groupby(ids, self._bytes.__contains__):
            if is_byte:
                read, places = _read_bytes([self._bytes[i] for i in run])
                starts += [len(text) + place for place in places]
                text += read
                continue
            for i in run:
                read = self._read_piece(i)
                visible = _VISIBLE.search(read)
                starts.append(None if visible is None else len(text) + visible.start())
                text += read
        if text.startswith(" "):
            return text[1:], [None if start is None else start - 1 for start in starts]
        return text, starts

    def _read_piece(self, piece_id: int) -> str:
        if piece_id in self._silent:
            return ""
        return UNKNOWN_TEXT if piece_id == UNK else self._pieces[piece_id].replace(SPACE, " ")

    def _ids_where(self, holds: Callable[[int], bool]) -> list[int]:
        return [i for i in range(self.vocabulary_size) if holds(i)]


class _Chunk(NamedTuple):
    """A text without white space, encoded: places and word numbers count from its start."""

    words: tuple[Word, ...]
    ids: tuple[int, ...]
    word_of_piece: tuple[int, ...]


def _load_processor(model: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    special = (processor.pad_id(), processor.bos_id(), processor.eos_id(), processor.unk_id())
    if special != (PAD, BOS, EOS, UNK):
        raise AlidadeError(
            f"the subword model numbers <pad>, <s>, </s> and <unk> as {special}, not as {(PAD, BOS, EOS, UNK)}: "
            "make it with `alidade prepare`"
        )
    return processor


def _words_ending_at(texts: Sequence[str], ends: Iterable[int]) -> tuple[Word, ...]:
    return tuple([Word(text, end - len(text), end) for text, end in zip(texts, ends, strict=True)])


def _words_at(words: Sequence[Word], starts: Sequence[int | None]) -> list[int]:
    """For each piece the word in which it starts; one that starts nowhere goes with the piece after it."""
    word_ends = [word.end for word in words]
    last = len(words) - 1
    word_of_piece: list[int] = []
    for start in reversed(starts):
        if start is not None:
            last = min(bisect.bisect_right(word_ends, start), len(words) - 1)
        word_of_piece.append(last)
    word_of_piece.reverse()
    return word_of_piece


def _places_of_bytes(text: str) -> Sequence[int]:
    """For each byte of a text in UTF-8, and its end, the character that it belongs to."""
    if text.isascii():
        return range(len(text) + 1)
    places = [place for place, character in enumerate(text) for _ in character.encode()]
    return [*places, len(text)]


def _without_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates, from JSON for example
        return text.encode(errors="replace").decode()
    return text


def _read_bytes(values: Sequence[int]) -> tuple[str, list[int]]:
    """The characters that bytes spell, and for each byte the character that it is part of."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = ""
    places: list[int] = []
    for value in values:
        places.append(len(text))
        text += decoder.decode(bytes([value]))
    text += decoder.decode(b"", final=True)
    # A line break would tear a translation apart, and no prepared text has a control character.
    return _CONTROL.sub("\ufffd", text), places


_REMEMBERED_LENGTH = 24
"""Longer chunks and units hardly ever repeat."""
_CHUNK = re.compile(r"\S+")
_VISIBLE = regex.compile(r"[^ ]")
_CONTROL = regex.compile(r"[\p{Cc}\u2028\u2029]")
