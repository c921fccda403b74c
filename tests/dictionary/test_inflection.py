from __future__ import annotations

import sys

import pytest

from alidade.dictionary import inflection
from alidade.dictionary.entries import Dictionary, Entry, make_entry
from alidade.dictionary.files import load_dictionary
from alidade.dictionary.inflection import MAX_FORMS, base_form, forms_of_word, inflected_forms
from alidade.dictionary.matching import find_matches, find_occurrences
from alidade.errors import AlidadeError
from alidade.text.subwords import Subwords
from alidade.text.words import split_words


def sources(text: str, *entries: Entry, language: str = "en") -> list[str]:
    dictionary = Dictionary(entries).inflected(language)
    return [occurrence.text for occurrence in find_occurrences(dictionary, text, split_words(text, language))]


@pytest.mark.parametrize(
    ("word", "language", "some"),
    [
        ("casă", "ro", {"casa", "case", "casei", "casele", "caselor"}),
        ("om", "ro", {"omul", "oameni", "oamenilor"}),
        ("Haus", "de", {"Hauses", "Häuser", "Häusern"}),
        ("Terminologiedatenbank", "de", {"Terminologiedatenbanken"}),
        ("mouse", "en", {"mice"}),
        ("Casă", "ro", {"Casele"}),
        ("casele", "ro", {"casă", "caselor"}),
    ],
)
def test_forms_of_a_word(word: str, language: str, some: set[str]) -> None:
    forms = forms_of_word(word, language)
    assert forms[0] == word
    assert some <= set(forms)


def test_forms_have_the_words_capitals_and_todays_spelling() -> None:
    assert all(form.islower() for form in forms_of_word("rot", "de"))
    assert not any("î" in form[1:] or "ş" in form for form in forms_of_word("merge", "ro"))
    assert forms_of_word("NATO", "en") == ("NATO",)
    assert all(form.startswith("locuin") for form in forms_of_word("locuință", "ro"))


def test_there_are_few_forms_and_the_nearest_come_first() -> None:
    forms = inflected_forms("deschide", "ro")
    assert len(forms) == MAX_FORMS
    assert set(forms[:5]) >= {"deschide", "deschid"}


@pytest.mark.parametrize(
    ("term", "language", "some"),
    [
        ("hard disk", "en", {"hard disks"}),
        ("house of cards", "en", {"houses of cards"}),
        ("to open", "en", {"to open", "open", "opened"}),
        ("fișier de configurare", "ro", {"fișiere de configurare", "fișierului de configurare"}),
        ("Haus der Kulturen", "de", {"Häuser der Kulturen"}),
        ("rote Karte", "de", {"rote Karten", "roten Karte", "roten Karten"}),
        ("disc dur", "ro", {"discul dur", "discuri dure", "discurilor dure"}),
    ],
)
def test_of_several_words_the_head_inflects_and_what_agrees_with_it(term: str, language: str, some: set[str]) -> None:
    forms = inflected_forms(term, language)
    assert forms[0] == term
    assert some <= set(forms)
    assert {base_form(form, language) for form in some} == {base_form(term, language)}


def test_romanian_adjectives_agree_in_number() -> None:
    forms = inflected_forms("disc dur", "ro")
    assert {"discul dur", "discului dur", "discurile dure"} <= set(forms)
    assert not {"disc dure", "discul duri", "discuri duri"} & set(forms)
    forms = inflected_forms("mașină roșie", "ro")
    assert {"mașina roșie", "mașini roșii", "mașinii roșii", "mașinilor roșii"} <= set(forms)
    assert "mașina roșii" not in forms
    assert "fișiere sursă" in inflected_forms("fișier sursă", "ro")


def test_a_language_without_a_table_does_not_inflect() -> None:
    assert inflected_forms("狗", "zh") == ("狗",)
    assert base_form("狗", "zh") == "狗"


def test_the_source_matches_in_any_form() -> None:
    house, disk = make_entry("house", ["casă"]), make_entry("hard disk", ["disc"])
    assert sources("Houses, a house and HOUSES", house) == ["Houses", "house", "HOUSES"]
    assert sources("two hard disks and a hard diskette", disk) == ["hard disks"]
    assert sources("many blockchains", make_entry("blockchain", ["x"])) == ["blockchains"], "not in the table"
    assert sources("he opened it", make_entry("to open", ["a deschide"])) == ["opened"]


def test_exact_case_holds_for_forms_too() -> None:
    assert sources("Windows and windows", make_entry("window", ["x"], "exact")) == ["windows"]


def test_the_very_word_goes_before_a_form_of_another() -> None:
    dictionary = Dictionary([make_entry("leaf", ["frunză"]), make_entry("leaves", ["pleacă"])]).inflected("en")
    (occurrence,) = find_occurrences(dictionary, "leaves", split_words("leaves", "en"))
    assert occurrence.entry.source == "leaves"


def test_occurrences_of_all_forms_are_counted() -> None:
    assert sources("a house, two houses", make_entry("house", ["casă"], occurrence=2)) == ["houses"]


def test_the_target_may_have_any_form(source_subwords: Subwords, target_subwords: Subwords) -> None:
    dictionary = load_dictionary(terms=["dog=Hund|!Hündchen"], languages=("en", "de"), inflect=True)
    (match,) = find_matches(dictionary, source_subwords.encode("Dogs"), target_subwords)
    assert {"Hund", "Hunde", "Hundes", "Hunden"} <= {form.text for form in match.forms}
    assert {"Hündchen", "Hündchens"} <= {form.text for form in match.forbidden}


def test_single_entries_of_a_file_may_inflect(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "t.tsv"
    path.write_text("source\ttarget\tinflect\nhouse\tcasă\tyes\ndog\tcâine\tno\n", encoding="utf-8")
    text = "houses and dogs"
    dictionary = load_dictionary(path, languages=("en", "ro"))
    assert [found.text for found in find_occurrences(dictionary, text, split_words(text, "en"))] == ["houses"]
    dictionary = load_dictionary(path)
    with pytest.raises(AlidadeError, match="say in which language their sources are"):
        find_occurrences(dictionary, text, split_words(text, "en"))
    assert find_occurrences(dictionary.in_language("en"), text, split_words(text, "en"))


def test_without_known_languages_nothing_inflects() -> None:
    with pytest.raises(AlidadeError, match="say in which languages"):
        load_dictionary(terms=["a=b"], inflect=True)
    with pytest.raises(AlidadeError, match="no tables of inflected forms for zh and ja"):
        load_dictionary(terms=["a=b"], languages=("zh", "ja"), inflect=True)


def test_what_is_never_translated_does_not_inflect() -> None:
    assert sources("two Windows", make_entry("Window", is_kept=True)) == []


def test_without_simplemma_only_inflection_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    inflection._simplemma.cache_clear()
    inflection._table.cache_clear()
    base_form.cache_clear()
    monkeypatch.setitem(sys.modules, "simplemma", None)
    assert len(load_dictionary(terms=["house=casă"], languages=("en", "ro"))) == 1
    with pytest.raises(AlidadeError, match="inflected forms need simplemma, which is not installed: run `pip install"):
        load_dictionary(terms=["house=casă"], languages=("en", "ro"), inflect=True)
