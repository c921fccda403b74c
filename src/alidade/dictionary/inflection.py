"""Inflected forms: "houses" for house, "casele" for casă.

Termbases hold base forms, texts do not. The source of an entry that inflects matches by its base form, and its target
may be written in any form that simplemma's table for the language has, so that the model can choose the one that fits.
Of a term of several words one inflects, its head: the last word in English or German ("hard disks"), unless a
preposition follows it ("houses of cards"), and the first in Romance languages ("fișiere de configurare").
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from itertools import pairwise, takewhile

from alidade.errors import AlidadeError
from alidade.text.words import Word, split_words

MAX_FORMS = 24
"""So many forms of a word are allowed, those most like it: enough for any noun or adjective, and few enough that the
search's choice stays small. (Romanian verbs have up to 70 in the table, most of them rare or old.)"""
_MIN_COMPOUND_PART = 4
_HEAD_FIRST = ("ca", "es", "fr", "gl", "it", "pt", "ro")
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


@functools.lru_cache(maxsize=1 << 16)
def base_form(phrase: str, language: str) -> str:
    """A phrase whose head has its base form: "hard disk" of "hard disks", "open" of "to open"."""
    words = split_words(phrase, language)
    if not words or not can_inflect(language):
        return phrase
    first = 1 if _has_particle(words, language) else 0
    head = words[_head(words, language)]
    start = words[first].start
    return phrase[start : head.start] + _lemma(head.text, _primary(language)) + phrase[head.end :]


@functools.lru_cache(maxsize=1 << 16)
def inflected_forms(phrase: str, language: str, most: int = MAX_FORMS) -> tuple[str, ...]:
    """The phrase as it is, and with its head in other forms, those most like it first."""
    words = split_words(phrase, language)
    if not words or not can_inflect(language):
        return (phrase,)
    head = words[_head(words, language)]
    start = words[1].start if _has_particle(words, language) else 0
    forms = [
        phrase[start : head.start] + form + phrase[head.end :] for form in forms_of_word(head.text, _primary(language))
    ]
    return tuple(dict.fromkeys([phrase, *forms]))[:most]


@functools.lru_cache(maxsize=1 << 16)
def forms_of_word(word: str, language: str) -> tuple[str, ...]:
    """All forms of a word, itself first, then by likeness."""
    if len(word) > 1 and word.isupper():  # an acronym
        return (word,)
    found = [_modern(form, language) for form in _related_words(word, language)]
    forms = {form for form in found if _is_regular(form, word, language)} - {word}
    return (word, *sorted(forms, key=lambda form: (_distance(word, form), len(form), form)))


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


def _modern(form: str, language: str) -> str:
    return form.translate(_COMMA_BELOW) if language == "ro" else form


def _distance(word: str, form: str) -> int:
    """How many letters follow what the two begin with; a form that begins otherwise is far."""
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(word, form, strict=False))))
    return len(word) + len(form) - 2 * shared


def _head(words: tuple[Word, ...], language: str) -> int:
    """Which word of a term inflects."""
    language = _primary(language)
    first = 1 if _has_particle(words, language) else 0
    candidates = [number for number, word in enumerate(words) if number >= first and not word.is_punctuation]
    if not candidates:
        return first if first < len(words) else 0
    if first:  # a verb
        return candidates[0]
    if language in _HEAD_FIRST:
        skipped = _FUNCTION_WORDS.get(language, "").split()
        return next((n for n in candidates if words[n].text.casefold() not in skipped), candidates[0])
    linking = _LINKING_WORDS.get(language, "").split()
    for before, number in pairwise(candidates):
        if words[number].text.casefold() in linking:
            return before
    return candidates[-1]


def _has_particle(words: tuple[Word, ...], language: str) -> bool:
    return len(words) > 1 and words[0].text.casefold() == _PARTICLES.get(_primary(language))


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
