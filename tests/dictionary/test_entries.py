from __future__ import annotations

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
    source: str, targets: list[str], numbers: dict[str, int], complaint: str
) -> None:
    with pytest.raises(AlidadeError) as error:
        make_entry(source, targets, origin="terms.tsv, line 7", **numbers)
    assert complaint in str(error.value)
    assert str(error.value).startswith("terms.tsv, line 7: ")


def test_duplicates_are_reported_and_kept_once() -> None:
    dictionary = Dictionary([make_entry("dog", ["Hund"], origin="a, line 1"), make_entry("dog", ["Hund"], origin="b")])
    assert len(dictionary) == 1
    assert dictionary.complaints == ('"dog = Hund" is given twice (a, line 1 and b)',)


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
            make_entry("bank", ["Sitz"], "ignore"),
        ]
    )
    assert len(dictionary) == 4
    assert dictionary.complaints == ()


def test_an_empty_dictionary_is_false() -> None:
    assert not Dictionary([])
    assert Dictionary([make_entry("a", ["b"])])
