"""Protected text: what stands between a person's text and the sentences that a model reads.

    text ── protect ──> sentences with stand-ins ── translator ──> translations ── restore ──> the text's translation

A placeholder (`text/placeholders.py`) that takes part in a sentence is replaced by a stand-in that the model knows,
`%s` for instance, and comes back in its place to the byte; where the search has not written each of them once, it is
asked again with the placeholders as required dictionary entries, and what is lost even then is put where the links of
its neighbours suggest. Tags, line breaks and emoji are taken out and put back by the links (`text/markup.py`). White
space between and around sentences stays as it was, and words, links and offsets speak of the original text.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import regex

from alidade.dictionary.entries import Dictionary
from alidade.protection.icu import Stretch, icu_stretches, is_plural
from alidade.text.markup import BREAKS, Mark, Role, partners_of, role_of_tag
from alidade.text.placeholders import BETWEEN_WORDS, Kind, Placeholder, find_placeholders
from alidade.text.sentences import SENTENCES, Splitting, split_sentences
from alidade.text.subwords import Subwords
from alidade.text.words import split_words


@dataclass(frozen=True, slots=True)
class StandIn:
    """A placeholder in the text that the model reads."""

    placeholder: Placeholder
    text: str
    start: int
    """In the plain text."""
    branches: tuple[tuple[Stretch, ProtectedText | None], ...] = ()
    """An ICU argument in stretches: some kept, some translated on their own."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the plain text, as the model is to read it."""

    start: int
    end: int
    text: str
    is_copied: bool = False
    """Not to be translated: there is nothing in it that a model could."""
    is_upper: bool = False
    """Was in capitals throughout, and shall be again."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProtectedText:
    """A text, ready to be translated sentence by sentence."""

    original: str
    plain: str
    """The text without tags and outer white space, with stand-ins."""
    origins: tuple[tuple[int, int], ...]
    """For each character of `plain` the stretch of the original that it stands for."""
    before: str
    after: str
    """The white space around."""
    stand_ins: tuple[StandIn, ...]
    marks: tuple[tuple[int, Mark], ...]
    """What stands between words, by its place in `plain`."""
    accelerator: tuple[int, str] | None
    """The place in `plain` of the letter that a key chooses, and the mark before it."""
    final_punctuation: str
    sentences: tuple[Sentence, ...]

    def all_sentences(self) -> Iterator[tuple[ProtectedText, Sentence]]:
        """The sentences of this text, then those of its branches, each with the text that it belongs to."""
        yield from [(self, sentence) for sentence in self.sentences]
        for stand_in in self.stand_ins:
            for _, branch in stand_in.branches:
                if branch is not None:
                    yield from branch.all_sentences()

    @property
    def is_plain(self) -> bool:
        """Whether the text is one sentence with nothing to protect: its translation needs no more work."""
        special = (
            self.stand_ins or self.marks or self.accelerator or self.final_punctuation or self.before or self.after
        )
        if special or len(self.sentences) != 1:
            return False
        sentence = self.sentences[0]
        return sentence.text == self.original and not sentence.is_copied and not sentence.is_upper

    def stand_ins_inside_words(self, language: str) -> list[StandIn]:
        """Those that stick to what is beside them: the model would read another word."""
        if not self.stand_ins:
            return []
        words = split_words(self.plain, language)
        starts, ends = {word.start for word in words}, {word.end for word in words}
        return [one for one in self.stand_ins if one.start not in starts or one.end not in ends]

    def stand_ins_of(self, sentence: Sentence) -> list[StandIn]:
        return [one for one in self.stand_ins if sentence.start <= one.start < sentence.end]


class Protection:
    """How texts are protected for one pair of vocabularies."""

    def __init__(self, source: Subwords, target: Subwords) -> None:
        self.language = source.language
        self.target_language = target.language
        self._source = source
        self._known = frozenset(
            [text for text in _STAND_INS if max(len(side.encode(text)) for side in (source, target)) == 1]
        )
        self._scripts = _scripts_of(source)
        self._foreign = regex.compile(rf"(?:(?!{self._scripts.pattern}|\p{{Common}})\p{{L}}[\p{{M}}\p{{Pd}}]*)+")

    def protect(
        self,
        text: str,
        *,
        is_plural: bool = False,
        splitting: Splitting = SENTENCES,
        dictionary: Dictionary | None = None,
    ) -> ProtectedText:
        """Prepare a text.

        is_plural: `#` is a number in it, as in a branch of an ICU plural. splitting: into sentences. dictionary: what
        has an entry of its own is translated as that says.
        """
        found = list(find_placeholders(text))
        if is_plural:
            found = _with_number_signs(text, found)
        found = self._with_foreign_words(text, found)
        if dictionary:
            found = [p for p in found if not any(dictionary.entries_for(p.text))]
        protected = _Builder(self, text, found, splitting, is_plural=is_plural).build()
        stuck = frozenset([one.placeholder.start for one in protected.stand_ins_inside_words(self.language)])
        if not stuck:
            return protected
        return _Builder(self, text, found, splitting, is_plural=is_plural, padded=stuck).build()

    def _with_foreign_words(self, text: str, found: list[Placeholder]) -> list[Placeholder]:
        """With words in scripts that the model has never seen; text that is mostly such is copied anyway."""
        if text.isascii():
            return found
        runs = [Placeholder("foreign", m.start(), m.end(), m[0]) for m in self._foreign.finditer(text)]
        free = [run for run in runs if not any(p.start < run.end and run.start < p.end for p in found)]
        return sorted([*found, *free], key=lambda p: p.start)

    def stand_in(self, placeholder: Placeholder) -> str:
        """What the model reads in its place: what it knows best of what is like it."""
        literal = _LITERALS.get(placeholder.text)
        if literal is not None:
            return literal
        wanted = "%d" if _NUMBER.fullmatch(placeholder.text) else "%s"
        if wanted in self._known or any(character.isspace() for character in placeholder.text):
            return wanted
        return placeholder.text

    def knows_better(self, text: str, other: str) -> bool:
        """Whether the model's pieces fit one text better than another."""
        return len(self._source.encode(text)) < len(self._source.encode(other))

    def copy_reason(self, text: str) -> str | None:
        """Why a sentence (without its stand-ins) is not given to the model; None: it is."""
        letters = regex.findall(r"\p{L}", text)
        if not letters:
            return None if regex.search(r"\p{N}", text) else ""
        foreign = sum(1 for letter in letters if not self._scripts.match(letter))
        if 2 * foreign > len(letters):
            return "copied: the model has never seen this script"
        return None


_STAND_INS = ("%s", "%d")
_LITERALS = {"%%": "%", "&&": "&", "&amp;": "&"}
_NUMBER = regex.compile(r"%(?:\d+\$)?[-+#0']*\d*(?:\.\d+)?(?:hh?|ll?|I64|I32|[Lqjzt])?[diufgGeE]|%\(\w+\)[dif]|#|%n")
_LEAST_PIECES = 50
"""A script is known if so many pieces have two or more of its letters."""


_SCRIPTS = (
    *("Latin", "Cyrillic", "Greek", "Han", "Hiragana", "Katakana", "Hangul", "Arabic", "Hebrew", "Thai", "Devanagari"),
    *("Georgian", "Armenian", "Bengali", "Tamil", "Telugu", "Khmer", "Lao", "Myanmar", "Ethiopic"),
)


def _scripts_of(subwords: Subwords) -> regex.Pattern[str]:
    pieces = "\n".join(subwords.spelling_ids)
    known = [name for name in _SCRIPTS if len(regex.findall(rf"\p{{{name}}}{{2,}}", pieces)) >= _LEAST_PIECES]
    return regex.compile("|".join([rf"\p{{{name}}}" for name in known]) if known else r"\p{L}")


def _with_number_signs(text: str, found: list[Placeholder]) -> list[Placeholder]:
    signs = [Placeholder("brace", m.start(), m.end(), "#") for m in regex.finditer("#", text)]
    free = [sign for sign in signs if not any(p.start <= sign.start < p.end for p in found)]
    return sorted([*found, *free], key=lambda p: p.start)


class _Builder:
    """Takes a text apart from left to right."""

    def __init__(
        self,
        protection: Protection,
        text: str,
        found: Sequence[Placeholder],
        splitting: Splitting,
        *,
        is_plural: bool,
        padded: frozenset[int] = frozenset(),
    ) -> None:
        """is_plural: as for `protect`. padded: where placeholders begin that need spaces around their stand-ins."""
        self.protection = protection
        self.is_plural = is_plural
        self.padded = padded
        self.text = text
        self.found = _with_verbatim_elements(text, found)
        self.splitting = splitting
        self.plain = ""
        self.origins: list[tuple[int, int]] = []
        self.stand_ins: list[StandIn] = []
        self.marks: list[tuple[int, Mark]] = []
        self.accelerator: tuple[int, str] | None = None

    def build(self) -> ProtectedText:
        start, end, final_punctuation = self._ends()
        place = start
        for placeholder in self.found:
            if not start <= placeholder.start < end or placeholder.kind == "punctuation":
                continue
            self._add_text(place, placeholder.start)
            place = self._add_placeholder(placeholder, end)
        self._add_text(place, end)
        plain = self.plain.rstrip()  # a mark at the end leaves the space before it
        sentences = tuple(self._sentences(plain))
        taken = {place for place, _ in self.marks}
        for sentence in sentences:
            self._mark_white_space(sentence, taken)
        self.marks.sort(key=lambda pair: pair[0])
        return ProtectedText(
            original=self.text,
            plain=plain,
            origins=tuple(self.origins),
            before=self.text[:start],
            after=self.text[end:],
            stand_ins=tuple(self.stand_ins),
            marks=tuple(self.marks),
            accelerator=self.accelerator,
            final_punctuation=final_punctuation,
            sentences=sentences,
        )

    def _ends(self) -> tuple[int, int, str]:
        """Where the text begins and ends without outer white space, and the punctuation at its end."""
        start, end, final = 0, len(self.text), ""
        for placeholder in self.found:
            if placeholder.kind == "space":
                start = placeholder.end if placeholder.start == 0 else start
                end = placeholder.start if placeholder.end == len(self.text) else end
            elif placeholder.kind == "punctuation":
                final = placeholder.text
        return min(start, end), end, final

    def _add_text(self, start: int, end: int) -> None:
        if not self.plain or (self.marks and self.marks[-1][0] == len(self.plain) and self.plain[-1:].isspace()):
            while start < end and self.text[start].isspace():
                start += 1  # the mark before has it
        if start < end and self.text[start] in _CLOSING and self.marks and self.marks[-1][0] == len(self.plain):
            self._take_back_space()
        self.plain += self.text[start:end]
        self.origins += [(place, place + 1) for place in range(start, end)]

    def _add_placeholder(self, placeholder: Placeholder, end: int) -> int:
        """Add one and say where the text goes on."""
        if placeholder.kind == "accelerator":
            self.accelerator = len(self.plain), placeholder.text
        elif _is_mark(placeholder):
            self._add_mark(placeholder, end)
        else:
            text = self.protection.stand_in(placeholder)
            is_padded = placeholder.start in self.padded
            if is_padded and self.plain and not self.plain[-1].isspace():
                self._add_space(placeholder.start)
            self.stand_ins.append(StandIn(placeholder, text, len(self.plain), self._branches(placeholder)))
            self.plain += text
            self.origins += [(placeholder.start, placeholder.end)] * len(text)
            if is_padded:
                self._add_space(placeholder.end)
        return placeholder.end

    def _take_back_space(self) -> None:
        """The space before a mark that is gone must not stand before a full stop; the mark remembers it."""
        while self.plain.endswith(" "):
            self.plain = self.plain[:-1]
            self.origins.pop()
        end = len(self.plain)
        self.marks = [(min(place, end), mark) for place, mark in self.marks]

    def _add_space(self, place: int) -> None:
        self.plain += " "
        self.origins.append((place, place))

    def _add_mark(self, placeholder: Placeholder, end: int) -> None:
        text = self.text
        start = placeholder.start
        while start and text[start - 1].isspace():
            start -= 1
        before = text[start : placeholder.start]
        after = _SPACE_AFTER.match(text, placeholder.end, end)
        role, name = _role(placeholder, text)
        is_break = name in BREAKS or name in self.splitting.tags or (role == "alone" and placeholder.kind == "escape")
        mark = Mark(
            placeholder.text,
            role,
            0,
            name,
            space_before=before,
            space_after=after[0] if after else "",
            is_break=is_break,
            number=len(self.marks),
            keeps_order=placeholder.kind == "escape" and role == "alone",
        )
        self.marks.append((len(self.plain), mark))
        if is_break and self.plain and not self.plain[-1].isspace() and placeholder.end < end:
            self.plain += " "
            self.origins.append((placeholder.start, placeholder.end))
            self.marks[-1] = len(self.plain), mark

    def _branches(self, placeholder: Placeholder) -> tuple[tuple[Stretch, ProtectedText | None], ...]:
        if placeholder.kind != "icu":
            return ()
        has_numbers = self.is_plural or is_plural(placeholder.text)
        return tuple(
            [
                (
                    stretch,
                    self.protection.protect(stretch.text, is_plural=has_numbers, splitting=self.splitting)
                    if stretch.is_translated
                    else None,
                )
                for stretch in icu_stretches(placeholder.text, self.protection.target_language)
            ]
        )

    def _sentences(self, plain: str) -> Iterator[Sentence]:
        kept = [(one.start, one.end) for one in self.stand_ins] + self._whole_elements()
        cuts = sorted({min(place, len(plain)) for place, mark in self.marks if mark.name in self.splitting.tags})
        for start, end in split_sentences(plain, self.protection.language, kept, cuts, self.splitting):
            rest = self._without_stand_ins(plain, start, end)
            text = " ".join(plain[start:end].split())
            reason = self.protection.copy_reason(rest)
            if reason is not None:
                yield Sentence(start, end, text, is_copied=True, note=reason)
            elif _is_shouted(rest) and self.protection.knows_better(lowered := self._lowered(plain, start, end), text):
                yield Sentence(start, end, lowered, is_upper=True)
            else:
                yield Sentence(start, end, text)

    def _whole_elements(self) -> list[tuple[int, int]]:
        """What stands in elements inside which no sentence ends."""
        marks = [mark for _, mark in self.marks]
        return [
            (self.marks[first][0], self.marks[last][0])
            for first, last in partners_of(marks).items()
            if first < last and marks[first].name in self.splitting.whole_tags
        ]

    def _without_stand_ins(self, plain: str, start: int, end: int) -> str:
        """A sentence's own words, those in foreign scripts included."""
        text = plain[start:end]
        for one in reversed(self.stand_ins):
            if start <= one.start < end:
                word = one.placeholder.text if one.placeholder.kind == "foreign" else " "
                text = text[: one.start - start] + word + text[one.end - start :]
        return text

    def _lowered(self, plain: str, start: int, end: int) -> str:
        """In small letters but for stand-ins and the first letter."""
        keeps = {place for one in self.stand_ins for place in range(one.start, one.end)}
        letters = [plain[place] if place in keeps else plain[place].lower() for place in range(start, end)]
        first = next((n for n, c in enumerate(letters) if start + n not in keeps and c.isalpha()), None)
        if first is not None:
            letters[first] = letters[first].upper()
        return " ".join("".join(letters).split())

    def _mark_white_space(self, sentence: Sentence, taken: Set[int]) -> None:
        """Line breaks and the like inside a sentence: the model reads a space."""
        for match in _ODD_SPACE.finditer(self.plain, sentence.start, sentence.end):
            if taken.isdisjoint(range(match.start(), match.end() + 1)):
                self.marks.append((match.end(), Mark(match[0], "alone", 0, is_break=True, keeps_order=True)))


_SPACE_AFTER = regex.compile(r"\s+")
_CLOSING = frozenset(".,;:!?)]}…")
_ODD_SPACE = regex.compile(r"\s{2,}|[^\S ]")
_VERBATIM = frozenset(
    [
        *("code", "kbd", "samp", "var", "pre", "script", "style", "tt"),  # HTML
        *("ph", "it", "bpt", "ept", "xliff:g"),  # XLIFF and TMX: what they hold is somebody else's markup
    ]
)
_CODES: dict[str, Role] = {"bpt": "open", "ept": "close", "it": "alone"}
"""Of those the ones that stand between words."""
_NO_TRANSLATION = regex.compile(
    r"""mtype\s*=\s*["']protected|translate\s*=\s*["']?no\b|class\s*=\s*["'][^"']*\bnotranslate\b"""
)


def _is_mark(placeholder: Placeholder) -> bool:
    """Whether it is put back by links instead of being written by the model."""
    if placeholder.kind == "entity":
        character = html.unescape(placeholder.text)
        return placeholder.text not in _LITERALS and len(character) == 1 and not character.isalnum()
    if placeholder.text.startswith("<ph ") and placeholder.text.endswith("/>"):
        return False  # XLIFF's own placeholder: a word of the sentence
    return placeholder.kind in BETWEEN_WORDS or placeholder.kind == "emoji"


def _role(placeholder: Placeholder, text: str) -> tuple[Role, str]:
    """Whether a mark opens, closes or stands alone, and its name."""
    if placeholder.kind == "tag":
        role, name = role_of_tag(placeholder.text)
        if name not in _CODES or not placeholder.text.endswith(f"</{name}>"):
            return role, name
        number = regex.search(r"""\b(?:rid|i|id)\s*=\s*["']?([\w-]+)""", placeholder.text)
        return _CODES[name], f"code {number[1] if number else ''}"
    if placeholder.text in _QUOTES:
        follows_word = placeholder.start > 0 and not regex.match(r"[\s(\[{]", text[placeholder.start - 1])
        precedes_word = placeholder.end < len(text) and not regex.match(r"[\s)\]}.,;:!?]", text[placeholder.end])
        if follows_word != precedes_word:
            return ("close" if follows_word else "open"), placeholder.text
    return "alone", ""


_QUOTES = frozenset({'\\"', "\\'", "&quot;", "&apos;", "&#39;", "&#34;"})


def _with_verbatim_elements(text: str, found: Sequence[Placeholder]) -> list[Placeholder]:
    """With elements that are never translated (`<code>`, `translate="no"`) as one placeholder each."""
    result: list[Placeholder] = []
    opening: tuple[Placeholder, str] | None = None
    depth = 0
    for number, placeholder in enumerate(found):
        role, name = role_of_tag(placeholder.text) if placeholder.kind == "tag" else ("", "")
        if opening is not None:
            if name == opening[1]:
                depth += {"open": 1, "close": -1}.get(role, 0)
            if depth == 0:
                start = opening[0].start
                kind: Kind = "tag" if opening[1] in _CODES else "template"
                result.append(Placeholder(kind, start, placeholder.end, text[start : placeholder.end]))
                opening = None
            continue
        is_verbatim = role == "open" and (name in _VERBATIM or _NO_TRANSLATION.search(placeholder.text) is not None)
        if is_verbatim and _is_closed(name, found[number + 1 :]):
            opening, depth = (placeholder, name), 1
        else:
            result.append(placeholder)
    return result


def _is_closed(name: str, later: Sequence[Placeholder]) -> bool:
    depth = 1
    for placeholder in later:
        role, other = role_of_tag(placeholder.text) if placeholder.kind == "tag" else ("", "")
        if other == name:
            depth += {"open": 1, "close": -1}.get(role, 0)
        if depth == 0:
            return True
    return False


def _is_shouted(text: str) -> bool:
    """All capitals, and more than an abbreviation."""
    words = regex.findall(r"\p{L}+", text)
    letters = "".join(words)
    return letters.isupper() and (len(letters) >= 5 if len(words) == 1 else len(letters) >= 6)
