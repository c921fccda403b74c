from __future__ import annotations

from pathlib import Path

import pytest

from alidade.alignment.links import Alignment
from alidade.dictionary.entries import make_entry
from alidade.dictionary.extraction import LinkedTexts, extract_terms, write_terms
from alidade.dictionary.files import read_entries
from alidade.errors import AlidadeError


def pair(source: str, target: str, links: str) -> LinkedTexts:
    return LinkedTexts(source, target, Alignment.parse(links))


DISKS = [
    pair("The hard disk is full .", "Die Festplatte ist voll .", "0-0 1-1 2-1 3-2 4-3 5-4"),
    pair("a hard disk", "eine Festplatte", "0-0 1-1 2-1"),
    pair("Hard disk , hard disk", "Festplatte , Harddisk", "0-0 1-0 2-1 3-2 4-2"),
]


def test_terms_have_counts_consistency_other_translations_and_an_example() -> None:
    (term,) = extract_terms(DISKS, "en", "de", min_count=2)
    assert (term.source, term.target, term.count, term.consistency) == ("hard disk", "Festplatte", 3, 0.75)
    assert term.others == (("Harddisk", 1),)
    assert term.example == ("a hard disk", "eine Festplatte")


def test_what_is_rare_or_not_consistent_is_left_out() -> None:
    assert extract_terms(DISKS, "en", "de", min_count=4) == []
    assert extract_terms(DISKS, "en", "de", min_consistency=0.8) == []
    assert extract_terms(DISKS, "en", "de", max_words=1) == []


def test_stop_words_marks_and_numbers_are_no_terms() -> None:
    pairs = [pair("the giraffe, 17", "die Giraffe, 17", "0-0 1-1 2-2 3-3")] * 3
    assert [term.source for term in extract_terms(pairs, "en", "de")] == ["giraffe"]


def test_a_phrase_that_says_no_more_than_its_words_is_left_out() -> None:
    pairs = [
        pair("purple giraffe", "girafă violetă", "0-1 1-0"),
        pair("purple", "violetă", "0-0"),
        pair("giraffe", "girafă", "0-0"),
    ] * 3
    assert [(term.source, term.count) for term in extract_terms(pairs, "en", "ro")] == [("giraffe", 6), ("purple", 6)]


def test_words_that_occur_in_a_longer_term_alone_are_left_out() -> None:
    pairs = [pair("lunar eclipse", "Mondfinsternis", "0-0 1-0")] * 3 + [pair("lunar rover", "Mondauto", "0-0 1-0")] * 3
    assert [term.source for term in extract_terms(pairs, "en", "de")] == ["lunar eclipse", "lunar rover"]


def test_inflected_forms_are_one_term() -> None:
    pairs = [pair("giraffe", "girafă", "0-0"), pair("giraffes", "girafele", "0-0"), pair("Giraffes", "girafe", "0-0")]
    assert extract_terms(pairs, "en", "ro") == []
    (term,) = extract_terms(pairs, "en", "ro", inflect=True)
    assert (term.source, term.target, term.count, term.inflects) == ("giraffe", "girafă", 3, True)


def test_terms_of_several_words_are_written_as_they_mostly_are() -> None:
    pairs = [
        pair("hard disk", "discul dur", "0-0 1-0 0-1 1-1"),
        *[pair("hard disks", "discurile dure", "0-0 1-0 0-1 1-1")] * 2,
    ]
    (term,) = extract_terms(pairs, "en", "ro", inflect=True)
    assert (term.source, term.target, term.count) == ("hard disk", "discurile dure", 3)


def test_what_is_written_is_a_dictionary(tmp_path: Path) -> None:
    write_terms(tmp_path / "terms.tsv", extract_terms(DISKS, "en", "de", min_count=2))
    assert list(read_entries(tmp_path / "terms.tsv")) == [make_entry("hard disk", ["Festplatte"])]


def test_links_outside_a_pair_name_it() -> None:
    with pytest.raises(AlidadeError, match="pair 1: link 0-4 is outside the pair"):
        extract_terms([pair("giraffe", "Giraffe", "0-4")], "en", "de")
