from __future__ import annotations

from typing import Any

import pytest

from alidade.dictionary.entries import Dictionary, make_entry
from alidade.errors import AlidadeError


def test_texts_are_compared_in_nfc_with_single_spaces() -> None:
    entry = make_entry("  New\t York ", ["Zu\u0308rich", "Zürich", "  "])
    assert entry.source == "New York"
    assert entry.targets == ("Zürich",)


@pytest.mark.parametrize(
    ("source", "targets", "numbers", "complaint"),
    [
        (" ", ["x"], {}, "terms.tsv, line 7: an entry needs a source"),
        ("strong", [" "], {}, 'the entry for "strong" has no translation'),
        ("strong", ["stark"], {"occurrence": 0}, 'occurrence 0 of "strong": occurrences are counted from 1'),
        ("strong", ["stark"], {"sentence": -1}, 'sentence -1 for "strong": sentences are counted from 1'),
    ],
)
def test_an_impossible_entry_says_where_it_stands(
    source: str, targets: list[str], numbers: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(AlidadeError) as error:
        make_entry(source, targets, origin="terms.tsv, line 7", **numbers)
    assert complaint in str(error.value)
    assert str(error.value).startswith("terms.tsv, line 7: ")


def test_duplicates_are_reported_and_kept_once() -> None:
    dictionary = Dictionary([make_entry("dog", ["Hund"], origin="a, line 1"), make_entry("dog", ["Hund"], origin="b")])
    assert len(dictionary) == 1
    assert dictionary.complaints == ()
    assert dictionary.duplicates == ('"dog = Hund" is given twice (a, line 1 and b)',)


def test_a_duplicate_among_contradictions_is_a_duplicate() -> None:
    entries = [make_entry("dog", targets) for targets in (["Hund"], ["Hund", "Köter"], ["Hund"])]
    dictionary = Dictionary(entries)
    assert len(dictionary.complaints) == 1
    assert dictionary.duplicates == ('"dog = Hund" is given twice',)


def test_entries_that_differ_in_case_only_are_one_unless_case_counts() -> None:
    assert len(Dictionary([make_entry("Dog", ["Hund"]), make_entry("dog", ["Hund"])])) == 1
    assert len(Dictionary([make_entry("Dog", ["Hund"], "exact"), make_entry("dog", ["Hund"], "exact")])) == 2


def test_what_is_forbidden_contradicts_only_the_same_wanted_form() -> None:
    dictionary = Dictionary([make_entry("dog", ["Hund"]), make_entry("dog", forbidden=["Köter"])])
    assert [str(entry) for entry in dictionary.entries] == ["dog = Hund | !Köter"]
    assert dictionary.complaints == ()
    dictionary = Dictionary([make_entry("dog", ["Hund", "Köter"]), make_entry("dog", forbidden=["Köter"])])
    assert [entry.targets for entry in dictionary.entries] == [("Hund",)]
    assert "it is forbidden" in dictionary.complaints[0]


def test_a_soft_hyphen_is_no_letter() -> None:
    assert make_entry("hard\u00addisk", ["Fest\u00adplatte"]) == make_entry("harddisk", ["Festplatte"])


def test_what_is_never_translated_has_exact_case_unless_it_says_otherwise() -> None:
    assert make_entry("Alidade", is_kept=True).case == "exact"
    assert make_entry("Alidade", is_kept=True, case="ignore").case == "ignore"
    assert str(make_entry("Alidade", is_kept=True)) == "Alidade = (as it stands)"


def test_contradictions_are_reported_and_either_form_is_allowed() -> None:
    dictionary = Dictionary([make_entry("strong", ["stark"]), make_entry("strong", ["kräftig", "stark"])])
    assert [entry.targets for entry in dictionary.entries] == [("stark", "kräftig")]
    assert len(dictionary.complaints) == 1
    assert "contradict each other" in dictionary.complaints[0]


def test_entries_for_other_places_do_not_contradict_each_other() -> None:
    dictionary = Dictionary(
        [
            make_entry("bank", ["Bank"]),
            make_entry("bank", ["Ufer"], occurrence=2),
            make_entry("bank", ["Damm"], sentence=3),
            make_entry("bank", ["Sitz"], "exact"),
        ]
    )
    assert len(dictionary) == 4
    assert dictionary.complaints == ()


def test_an_empty_dictionary_is_false() -> None:
    assert not Dictionary([])
    assert Dictionary([make_entry("a", ["b"])])
