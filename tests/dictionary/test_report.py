from __future__ import annotations

from alidade.dictionary.constraints import Use
from alidade.dictionary.entries import Dictionary, make_entry
from alidade.dictionary.matching import find_matches
from alidade.dictionary.report import DictionarySummary, MatchedEntry, report_matches
from alidade.text.subwords import Subwords


def test_uses_are_reported_as_words(source_subwords: Subwords, target_subwords: Subwords) -> None:
    dictionary = Dictionary([make_entry("strong man", ["bcd Mann"]), make_entry("dog", ["Hund"])])
    matches = find_matches(dictionary, source_subwords.encode("a strong man and a dog"), target_subwords)
    target = target_subwords.encode("der bcd Mann")
    first, second = report_matches(matches, [Use(0, range(1, len(target.ids)))], target)
    assert (first.source_words, first.target_words, first.is_used) == (range(1, 3), range(1, 3), True)
    assert (second.source_words, second.target_words, second.is_used) == (range(5, 6), None, False)
    assert first.as_json() == {
        "source": "strong man",
        "targets": ["bcd Mann"],
        "source_words": [1, 3],
        "target_words": [1, 3],
    }
    assert second.as_json()["target_words"] is None


def test_a_summary_counts_and_names_what_was_not_used() -> None:
    entries = [make_entry(f"word{number}", ["x"]) for number in range(8)]
    summary = DictionarySummary(Dictionary(entries))
    summary.add([MatchedEntry(entries[0], range(1), range(1)), MatchedEntry(entries[1], range(1), None)])
    summary.add([MatchedEntry(entry, range(1), None, is_writable=entry.source != "word7") for entry in entries[1:]])
    summary.add([])
    lines = str(summary).splitlines()
    assert lines[0] == "dictionary: 9 matches in 3 sentences, 1 used, 8 not used"
    assert lines[1] == "  not used: word1 = x (2 times)"
    assert lines[6:] == ["  ... and 2 other entries", "  the target vocabulary cannot write: word7 = x"]


def test_a_dictionary_that_matches_nothing_says_so() -> None:
    summary = DictionarySummary(Dictionary([make_entry("dog", ["Hund"])]))
    summary.add([])
    assert str(summary).startswith("dictionary: none of the 1 entries occurs in the 1 sentences")
