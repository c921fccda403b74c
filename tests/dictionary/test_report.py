from __future__ import annotations

from alidade.dictionary.entries import Dictionary, make_entry
from alidade.dictionary.matching import Form, Match, find_matches
from alidade.dictionary.report import DictionarySummary, report_entries
from alidade.dictionary.rules import Use
from alidade.text.subwords import Subwords

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


def test_what_only_forbids_is_not_counted_as_unused() -> None:
    entry = make_entry("dog", forbidden=["Köter"])
    summary = DictionarySummary(Dictionary([entry]))
    summary.add([Match(entry, range(1), range(1, 2), ())], [])
    assert str(summary) == "dictionary: 1 matches in 1 sentences, 0 used, 0 not used, 1 that only forbid"


def test_each_entry_says_where_it_stands_or_why_not(
    source_subwords: Subwords, target_subwords: Subwords, target_subwords_without_bytes: Subwords
) -> None:
    source, target = source_subwords.encode("a Dog sees red wine"), target_subwords.encode("ein Hund sieht Wein auf")
    dictionary = Dictionary(
        [
            make_entry("dog", ["Hund"], origin="terms.tsv, line 1"),
            make_entry("sees", ["auf"]),
            make_entry("red", ["rot"]),
            make_entry("wine", forbidden=["Wein"]),
        ]
    )
    matches = find_matches(dictionary, source, target_subwords)
    pieces = target.pieces_of_word(1)
    dog, sees, red, wine = report_entries(matches, [Use(0, pieces)], source, target)
    assert dog.to_json() == {
        "entry": "dog = Hund",
        "origin": "terms.tsv, line 1",
        "source_words": [1],
        "source_text": "Dog",
        "is_used": True,
        "form": "Hund",
        "target_words": [1],
        "target_pieces": [*pieces],
        "reason": "",
    }
    assert (sees.is_used, sees.reason) == (False, "its form stands in the translation, but translates other words")
    assert (red.form, red.reason) == (None, "the search found no place for it")
    assert wine.reason == 'only forbids; "Wein" stands in the translation'
    matches = find_matches(Dictionary([make_entry("dog", ["żółw"])]), source, target_subwords_without_bytes)
    assert report_entries(matches, [], source, target)[0].reason == "the target vocabulary cannot write it"
