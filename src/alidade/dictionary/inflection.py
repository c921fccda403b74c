"""Inflected forms: "houses" for house, "casele" for casă.

Termbases hold base forms, texts do not. The source of an entry that inflects matches by its base form, and its target
may be written in any form that simplemma's table for the language has, so that the model can choose the one that fits.
Of a term of several words its head inflects: the last word in English or German ("hard disks"), unless a preposition
follows it ("houses of cards"), and the first in Romance languages ("fișiere de configurare"). Where adjectives agree
with it, those beside it inflect too ("discuri dure", "roten Karten").
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Mapping
from typing import NamedTuple

from alidade.errors import AlidadeError
from alidade.text.words import Word, split_words

MAX_FORMS = 24
"""So many forms of a word are allowed, those most like it: enough for any noun or adjective, and few enough that the
search's choice stays small. (Romanian verbs have up to 70 in the table, most of them rare or old.)"""
_MAX_PHRASE_FORMS = 64
_MAX_AGREEING_FORMS = 6
_MIN_COMPOUND_PART = 4
_HEAD_FIRST = ("ca", "es", "fr", "gl", "it", "pt", "ro")
_AGREEING_BEFORE = (
    *("bg", "bs", "cs", "da", "de", "el", "hr", "is", "lt", "lv", "mk", "nb", "nl", "nn"),
    *("pl", "ru", "sk", "sl", "sr", "sv", "uk"),
)
"""Here adjectives stand before their noun and agree with it."""
_LINKING_WORDS = {
    "en": "of for in on at to with without from by as per and or",
    "de": "der des die das dem den von vom für in im mit ohne zu zur zum auf aus an am bei und oder",
    "nl": "van voor in op met zonder uit aan bij en of de het",
}
"""What follows them says more about the head, which stands before them."""
_FUNCTION_WORDS = {
    "es": "el la los las un una de del a en",
    "fr": "le la les un une des de du d l à en",
    "it": "il lo la i gli le un una di del a in",
    "pt": "o a os as um uma de do da em",
    "ro": "un o al a ai ale cel cea cei cele de din la în pe cu",
}
_PARTICLES = {"en": "to", "ro": "a", "sv": "att", "da": "at", "nb": "å", "nn": "å"}
"""What dictionaries write before a verb: "to open"."""
_COMMA_BELOW = str.maketrans("ŞşŢţ", "ȘșȚț")


def can_inflect(language: str) -> bool:
    """Whether there is a table of this language's forms."""
    return bool(_table(_primary(language)))


def load_forms(language: str) -> None:
    """Read a language's table now: before a process forks, so that the others need not do it again."""
    _forms_by_lemma(_primary(language))


@functools.lru_cache(maxsize=1 << 16)
def base_form(phrase: str, language: str) -> str:
    """A phrase with the base forms of what inflects in it: "hard disk" of "hard disks", "open" of "to open"."""
    words = split_words(phrase, language)
    if not words or not can_inflect(language):
        return phrase
    term = _Term.of(words, _primary(language))
    return term.rewrite(phrase, {number: _lemma(words[number].text, term.language) for number in term.inflecting})


@functools.lru_cache(maxsize=1 << 16)
def inflected_forms(phrase: str, language: str) -> tuple[str, ...]:
    """The phrase as it is, and in other forms, those most like it first."""
    words = split_words(phrase, language)
    if not words or not can_inflect(language):
        return (phrase,)
    term = _Term.of(words, _primary(language))
    head = words[term.head].text
    forms = [phrase]
    for form in forms_of_word(head, term.language)[:MAX_FORMS]:
        choices = [_agreeing_forms(words[number].text, head, form, term) for number in term.agreeing]
        forms += [
            term.rewrite(phrase, dict(zip(term.inflecting, (form, *chosen), strict=True)))
            for chosen in itertools.product(*choices)
        ]
    return tuple(dict.fromkeys(forms))[:_MAX_PHRASE_FORMS]


def _agreeing_forms(word: str, head: str, head_form: str, term: _Term) -> tuple[str, ...]:
    """The forms of an adjective that may go with a form of its noun."""
    if term.language == "ro":
        return _agree_in_romanian(word, head, head_form)
    return forms_of_word(word, term.language)[: max(_MAX_AGREEING_FORMS // len(term.agreeing), 1)]


def _agree_in_romanian(word: str, head: str, head_form: str) -> tuple[str, ...]:
    """As it is given with a singular noun; with others a plural, which feminines also have in the genitive. A noun that
    stands where an adjective might ("fișiere sursă") stays as it is."""
    singular = [head, *[head + ending for ending in ("l", "ul", "le", "lui", "ului", "a")], f"{head[:-1]}a"]
    if head_form in singular:
        return (word,)
    forms = {*forms_of_word(word, "ro"), *forms_of_word(_lemma(word, "ro"), "ro")} - {word}
    bare = sorted([form for form in forms if form.removesuffix("le") not in forms - {form}], key=len)
    plurals = {ending: next((form for form in bare if form.endswith(ending)), "") for ending in ("e", "i")}
    is_in_e = word.endswith("ă") or head_form.endswith(("uri", "urile", "urilor", "e", "ele", "elor"))
    chosen = [plurals["e"] or plurals["i"]] if is_in_e else [plurals["i"], plurals["e"]]
    return tuple(dict.fromkeys([*filter(None, chosen), word]))


class _Term(NamedTuple):
    """The words of a term, and which of them inflect."""

    words: tuple[Word, ...]
    language: str
    first: int
    """1 after a verb's particle, else 0."""
    head: int
    agreeing: tuple[int, ...]

    @classmethod
    def of(cls, words: tuple[Word, ...], language: str) -> _Term:
        if len(words) > 1 and words[0].text.casefold() == _PARTICLES.get(language):
            return cls(words, language, 1, 1, ())
        head = _head(words, language)
        return cls(words, language, 0, head, _agreeing(words, head, language))

    @property
    def inflecting(self) -> tuple[int, ...]:
        return self.head, *self.agreeing

    def rewrite(self, phrase: str, forms: Mapping[int, str]) -> str:
        """The phrase with other words in the places of some, and without a particle."""
        text, end = "", self.words[self.first].start
        for number in sorted(forms):
            text += phrase[end : self.words[number].start] + forms[number]
            end = self.words[number].end
        return text + phrase[end:]


@functools.lru_cache(maxsize=1 << 16)
def forms_of_word(word: str, language: str) -> tuple[str, ...]:
    """All forms of a word, itself first, then by likeness."""
    if len(word) > 1 and word.isupper():  # an acronym
        return (word,)
    found = [_modern(form, language) for form in _related_words(word, language)]
    forms = {form for form in found if _is_regular(form, word, language)} - {word}
    ranked = [word, *sorted(forms, key=lambda form: (_distance(word, form), len(form), form))]
    if language == "ro":
        ranked = [form for number, form in enumerate(ranked) if not _is_old_spelling(form, ranked[:number])]
    return tuple(ranked)


def _related_words(word: str, language: str) -> list[str]:
    """The forms of a word, in whatever way the table knows it."""
    table, by_lemma = _table(language), _forms_by_lemma(language)
    lemma = table.get(word)
    if lemma == word:
        return by_lemma.get(word, [])
    if word in by_lemma:  # a lemma, and a form of another: "deschis", open, of "deschide"
        return by_lemma[word] + [form for form in by_lemma.get(lemma or "", ()) if form.startswith(word)]
    if lemma is not None:
        return [lemma, *by_lemma.get(lemma, ())]
    if word[0].isupper() and word.lower() in table:
        return [form[0].upper() + form[1:] for form in _related_words(word.lower(), language)]
    return _forms_of_compound(word, language)


def _forms_of_compound(word: str, language: str) -> list[str]:
    """A word that the table does not know, inflected like the longest word that it ends with."""
    table = _table(language)
    for start in range(1, len(word) - _MIN_COMPOUND_PART + 1):
        before, last = word[:start], word[start:]
        if before.endswith("-") and last in table:
            return [before + form for form in _related_words(last, language)]
        if language == "de" and start >= _MIN_COMPOUND_PART and table.get(last.capitalize()) == last.capitalize():
            return [before + form.lower() for form in _related_words(last.capitalize(), language)]
    return []


def _is_regular(form: str, word: str, language: str) -> bool:
    """Whether a form may stand where the word does: the same capitals, letters only, today's spelling."""
    if not form or form[0].isupper() != word[0].isupper() or (form.isupper() and len(form) > 1):
        return False
    if language == "ro" and "î" in form[1:-1] and "î" not in word[1:-1]:  # written â since 1993
        return False
    return all(character.isalpha() or character in word for character in form)


def _is_old_spelling(form: str, nearer: Collection[str]) -> bool:
    """Whether a form, "lăcuința", is one nearer to the word, "locuința", but for a letter in its first half."""
    start, end = form[: (len(form) + 1) // 2], form[(len(form) + 1) // 2 :]
    return any(
        len(other) == len(form)
        and other.endswith(end)
        and sum([one != two for one, two in zip(start, other, strict=False)]) == 1
        for other in nearer
    )


def _modern(form: str, language: str) -> str:
    return form.translate(_COMMA_BELOW) if language == "ro" else form


def _distance(word: str, form: str) -> int:
    """How many letters follow what the two begin with; a form that begins otherwise is far."""
    shared = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(word, form, strict=False))))
    return len(word) + len(form) - 2 * shared


def _head(words: tuple[Word, ...], language: str) -> int:
    """Which word of a term the others belong to."""
    candidates = [number for number, word in enumerate(words) if not word.is_punctuation] or [0]
    if language in _HEAD_FIRST:
        skipped = _FUNCTION_WORDS.get(language, "").split()
        return next((n for n in candidates if words[n].text.casefold() not in skipped), candidates[0])
    linking = _LINKING_WORDS.get(language, "").split()
    for before, number in itertools.pairwise(candidates):
        if words[number].text.casefold() in linking:
            return before
    return candidates[-1]


def _agreeing(words: tuple[Word, ...], head: int, language: str) -> tuple[int, ...]:
    """The words beside the head that may be adjectives."""
    if language in _HEAD_FIRST:
        beside = range(head + 1, len(words))
        others = _FUNCTION_WORDS.get(language, "").split()
    elif language in _AGREEING_BEFORE:
        beside = range(head - 1, -1, -1)
        others = []
    else:
        return ()
    return tuple(
        itertools.takewhile(
            lambda number: words[number].text[0].islower() and words[number].text.casefold() not in others, beside
        )
    )


@functools.lru_cache(maxsize=1 << 16)
def _lemma(word: str, language: str) -> str:
    if len(word) > 1 and word.isupper():
        word = word.capitalize() if language == "de" else word.lower()
    return _simplemma().lemmatise(word, language)


class _Simplemma:
    """What is taken from simplemma, which is imported only when something inflects."""

    def __init__(self) -> None:
        try:
            from simplemma import Lemmatizer
            from simplemma.strategies import DefaultStrategy
            from simplemma.strategies.dictionaries import DEFAULT_DICTIONARY_FACTORY
        except ImportError:
            raise AlidadeError(
                "inflected forms need simplemma, which is not installed: run `pip install simplemma`, or leave out "
                "--inflect and the column `inflect`"
            ) from None
        self._tables = DEFAULT_DICTIONARY_FACTORY  # the lemmatisers' own, so that a table is in memory once
        self._careful = Lemmatizer()
        self._greedy = Lemmatizer(lemmatization_strategy=DefaultStrategy(greedy=True))

    def table(self, language: str) -> Mapping[str, str]:
        """The base form of each inflected form; empty if the language is not known."""
        try:
            return self._tables.get_dictionary(language)
        except ValueError:
            return {}

    def lemmatise(self, word: str, language: str) -> str:
        """The base form of a word, by the table or, if that does not have it, by rules."""
        lemmatiser = self._careful if word in self.table(language) else self._greedy
        return lemmatiser.lemmatize(word, lang=language)


@functools.cache
def _simplemma() -> _Simplemma:
    return _Simplemma()


@functools.cache
def _table(language: str) -> Mapping[str, str]:
    return _simplemma().table(language)


@functools.cache
def _forms_by_lemma(language: str) -> dict[str, list[str]]:
    """simplemma's table the other way round."""
    forms: dict[str, list[str]] = {}
    for form, lemma in _table(language).items():
        if form != lemma:
            forms.setdefault(lemma, []).append(form)
    return forms


def _primary(language: str) -> str:
    """ "ro" of "ro-RO"."""
    return language.lower().replace("_", "-").split("-")[0]
