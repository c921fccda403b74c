from __future__ import annotations

from alidade.dictionary.entries import Dictionary, make_entry
from alidade.dictionary.matching import Form, Match
from alidade.dictionary.report import DictionarySummary
from alidade.dictionary.rules import Use

ENTRIES = [make_entry(f"word{number}", ["x"]) for number in range(8)]
MATCHES = [Match(entry, range(1), range(1, 2), (Form("x", (7,), (8,)),)) for entry in ENTRIES]


def test_a_summary_counts_and_names_what_was_not_used() -> None:
    summary = DictionarySummary(Dictionary(ENTRIES))
    summary.add(MATCHES[:2], [Use(0, range(3, 4))])
    summary.add([*MATCHES[1:7], Match(ENTRIES[7], range(1), range(1, 2), ())], [])
    summary.add([], [])
    lines = str(summary).splitlines()
    assert lines[0] == "dictionary: 9 matches in 3 sentences, 1 used, 8 not used"
    assert lines[1] == "  not used: word1 = x (2 times)"
    assert lines[6:] == ["  ... and 2 other entries", "  the target vocabulary cannot write: word7 = x"]


def test_a_dictionary_that_matches_nothing_says_so() -> None:
    summary = DictionarySummary(Dictionary(ENTRIES))
    summary.add([], [])
    assert str(summary).startswith("dictionary: none of the 8 entries occurs in the 1 sentences")
