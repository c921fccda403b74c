"""What holds for random models holds for a trained one: the model in the box."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from alidade.dictionary.entries import Dictionary, make_entry
from alidade.dictionary.files import load_dictionary
from alidade.model_folder import shipped_model
from alidade.models.reference import ReferenceSystem
from alidade.models.system import load_system
from alidade.search.beam import BeamSearch
from alidade.search.hypotheses import Request
from alidade.translation import Translation
from alidade.translator import Mode, Translator

TEXTS = (
    "The file could not be saved because the disk is full.",
    "Open the file.",
    "",
    "Please restart the computer to finish the installation.",
    "Two children are playing in front of the old house.",
    "Cancel",
)
DICTIONARY = load_dictionary((), ("disk=volumul|volum", "house=clădire|clădirii", "the file=documentul"))


@functools.cache
def make_translator(**settings: Any) -> Translator:
    path = shipped_model()
    assert path is not None, "a model is shipped"
    return Translator(path, beam_size=3, precision="float32", **settings)


def translate(texts: tuple[str, ...], mode: Mode | None = None, **settings: Any) -> list[Translation]:
    translator = make_translator(**settings)
    if mode is None:
        return translator.translate_all(texts, num_best=3)
    return translator.translate_all(texts, num_best=3, dictionary=DICTIONARY, mode=mode)


def assert_same(first: list[Translation], second: list[Translation]) -> None:
    for one, other in zip(first, second, strict=True):
        for mine, theirs in zip((one, *one.alternatives), (other, *other.alternatives), strict=True):
            assert (mine.text, mine.positions, mine.uses) == (theirs.text, theirs.positions, theirs.uses)
            assert mine.score == pytest.approx(theirs.score, abs=1e-4)
        assert one.alignment == other.alignment


@pytest.mark.parametrize("mode", [None, "suggest", "require"])
@pytest.mark.parametrize("length_normalisation", [0.0, 1.0])
def test_exact_is_none(mode: Mode | None, length_normalisation: float) -> None:
    exact, none = (
        translate(TEXTS, mode, pruning=pruning, length_normalisation=length_normalisation)
        for pruning in ("exact", "none")
    )
    assert_same(exact, none)
    assert sum(one.num_evaluations for one in exact) < sum(one.num_evaluations for one in none) / 2


@pytest.mark.parametrize("mode", [None, "suggest", "require"])
def test_a_batch_is_its_sentences_one_by_one(mode: Mode | None) -> None:
    alone = [translation for text in TEXTS for translation in translate((text,), mode)]
    assert_same(translate(TEXTS, mode), alone)


def test_torch_finds_the_same() -> None:
    """The search with the modules that were trained, without caches: the same pieces, positions and scores."""
    translator = make_translator()
    encoded = [translator.model.source_subwords.encode(text) for text in TEXTS if text]
    requests = [Request(source.ids) for source in encoded]
    torch_system, engine = ReferenceSystem(load_system(translator.model)), translator.system
    expected, found = [
        BeamSearch(system, translator.settings).search(requests, num_best=3) for system in (torch_system, engine)
    ]
    for theirs, mine in zip(expected, found, strict=True):
        for one, other in zip(theirs.hypotheses, mine.hypotheses, strict=True):
            assert (one.pieces, one.positions) == (other.pieces, other.positions)
            assert one.score == pytest.approx(other.score, abs=1e-4)
            np.testing.assert_allclose(one.attention, other.attention, atol=1e-4)


def test_required_entries_are_used() -> None:
    for translation in translate(TEXTS, "require"):
        assert len(translation.uses) == len(translation.matches)


PLAIN = (
    "The cat is sleeping on the table.",
    "A man is playing the guitar.",
    "Two women are walking on the street.",
    "The boy is reading a book in the garden.",
    "A dog is running through the grass.",
    "Select the folder that you want to open.",
    "The password is too short.",
    "Enter the name of the new file.",
    "The connection to the server was lost.",
    "Do you want to save the changes?",
    "This option cannot be used here.",
    "A woman is cutting an onion.",
    "The train is late today.",
    "The printer is out of paper.",
    "Show the number of the page.",
    "A child is drinking milk.",
    "The window was closed.",
    "Move the selected messages to the trash.",
    "The list of users is empty.",
    "Print the current document.",
    "The children are eating apples in the kitchen.",
    "A black horse is standing near the river.",
    "Choose the language of the keyboard.",
    "The file is too large.",
    "My brother works in a hospital.",
    "Do not turn off the computer.",
    "The old man is sitting on a bench.",
    "You can change the colours in the settings.",
    "The picture has no title.",
    "Three girls are dancing on the stage.",
    "The user cannot be deleted.",
    "Type the first letters of the word.",
    "A woman is slicing a tomato.",
    "The door of the house is red.",
    "Copy the text to the clipboard.",
    "The meeting begins at eight.",
    "A man is riding a bicycle.",
    "The battery is low.",
    "Close all windows before you continue.",
    "The answer was not found.",
)


@functools.cache
def plain_translations() -> list[Translation]:
    return make_translator().translate_all(PLAIN)


@pytest.mark.parametrize("mode", ["suggest", "require"])
def test_a_dictionary_that_says_nothing_new_changes_nothing(mode: Mode) -> None:
    """Two words of each translation, linked one to one, are its entries."""
    plain = plain_translations()
    entries = [
        make_entry(source, [target], sentence=number)
        for number, translation in enumerate(plain, start=1)
        for source, target in own_words(translation)[:2]
    ]
    assert len(entries) > len(PLAIN)
    same = make_translator().translate_all(PLAIN, dictionary=Dictionary(entries), mode=mode)
    assert [one.text for one in same] == [one.text for one in plain]
    assert sum(len(one.uses) for one in same) == len(entries)


@pytest.mark.parametrize("mode", ["suggest", "require"])
def test_words_that_the_model_would_not_have_written_are_written_once(mode: Mode) -> None:
    """Each sentence is given another one's noun: it stands there once, and the sentence begins and ends as before."""
    nouns = ("cat", "man", "women", "boy", "dog", "folder", "password", "name", "server", "changes")
    words = ("cal", "băiat", "fetele", "bunic", "lup", "caiet", "cifru", "numărul", "motorului", "urmele")
    plain = plain_translations()
    pairs = zip(nouns, words, strict=True)
    entries = [make_entry(noun, [word], sentence=number) for number, (noun, word) in enumerate(pairs, start=1)]
    given = make_translator().translate_all(PLAIN, dictionary=Dictionary(entries), mode=mode)
    for before, one, word in zip(plain, given, words, strict=False):
        assert [use.match for use in one.uses] == [0]
        written = [other.text.casefold() for other in one.target.words]
        assert written.count(word) == 1
        assert one.text[-1] == before.text[-1]
        assert one.text[0].isupper() == before.text[0].isupper()
        assert abs(len(written) - len(before.target.words)) <= 4
    assert [one.text for one in given[len(words) :]] == [one.text for one in plain[len(words) :]]


@pytest.mark.parametrize("mode", ["suggest", "require"])
def test_what_does_not_depend_on_an_entry_stays_as_it_was(mode: Mode) -> None:
    """A beam that is held to an entry loses the polite form of the verb before it, which scores higher."""
    text = "Please read the manual before you open the box."
    entries = load_dictionary((), ("manual=ghid", "box=cutiuță"))
    before = make_translator().translate(text)
    after = make_translator().translate(text, dictionary=entries, mode=mode)
    words = [word.text for word in before.target.words]
    expected = ["ghid" if word == "manualul" else "cutiuță" if word == "caseta" else word for word in words]
    assert [word.text for word in after.target.words] == expected
    assert sorted([use.match for use in after.uses]) == [0, 1]


def own_words(translation: Translation) -> list[tuple[str, str]]:
    """Source and target words that are linked with each other and with nothing else, and stand there once."""
    links = list(translation.alignment or ())
    sources, targets = [link.source for link in links], [link.target for link in links]
    words = [word.text.lower() for word in translation.source.words]
    alone = [link for link in links if sources.count(link.source) == targets.count(link.target) == 1]
    pairs = [(translation.source.words[s].text, translation.target.words[t].text) for s, t in alone]
    return [pair for pair in pairs if pair[0].isalpha() and pair[1].isalpha() and words.count(pair[0].lower()) == 1]
