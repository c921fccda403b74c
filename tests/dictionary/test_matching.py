from __future__ import annotations

import time

import pytest

from alidade.dictionary.entries import Dictionary, Entry, make_entry
from alidade.dictionary.matching import find_matches
from alidade.text.subwords import Subwords


@pytest.fixture
def found(source_subwords: Subwords, target_subwords: Subwords):  # type: ignore[no-untyped-def]  # a plain helper
    def find(text: str, *entries: Entry, sentence: int | None = None) -> list[tuple[str, range]]:
        matches = find_matches(Dictionary(entries), source_subwords.encode(text), target_subwords, sentence)
        return [(match.entry.targets[0], match.words) for match in matches]

    return find


def test_words_match_not_pieces_and_not_prefixes(found) -> None:  # type: ignore[no-untyped-def]
    entry = make_entry("orks", ["Orks"])
    assert found("the orks", entry) == [("Orks", range(1, 2))]
    assert found("the orkstadt, the Xorks, orks-like", entry) == []
    assert found("(orks).", entry) == [("Orks", range(1, 2))]


def test_every_occurrence_matches_or_the_nth(found) -> None:  # type: ignore[no-untyped-def]
    assert found("a dog and a dog", make_entry("dog", ["Hund"])) == [("Hund", range(1, 2)), ("Hund", range(4, 5))]
    assert found("a dog and a dog", make_entry("dog", ["Hund"], occurrence=2)) == [("Hund", range(4, 5))]
    assert found("a dog", make_entry("dog", ["Hund"], occurrence=2)) == []


def test_an_entry_for_one_occurrence_goes_before_one_for_all(found) -> None:  # type: ignore[no-untyped-def]
    entries = [make_entry("dog", ["Hund"]), make_entry("dog", ["Dogge"], occurrence=2)]
    assert found("a dog and a dog", *entries) == [("Hund", range(1, 2)), ("Dogge", range(4, 5))]


def test_the_longest_phrase_goes_first_and_nothing_overlaps(found) -> None:  # type: ignore[no-untyped-def]
    entries = [make_entry(phrase, [phrase.upper()]) for phrase in ("the strong", "strong man sees", "man", "sees")]
    assert found("the strong man sees", *entries) == [("STRONG MAN SEES", range(1, 4))]
    assert found("the strong man", *entries) == [("THE STRONG", range(2)), ("MAN", range(2, 3))]


def test_of_phrases_of_one_length_the_left_one_is_taken(found) -> None:  # type: ignore[no-untyped-def]
    assert found("a dog and a dog", make_entry("a dog", ["A"]), make_entry("dog and", ["B"])) == [
        ("A", range(2)),
        ("A", range(3, 5)),
    ]


def test_case_counts_unless_the_entry_says_otherwise(found) -> None:  # type: ignore[no-untyped-def]
    assert found("Dog DOG dog", make_entry("dog", ["Hund"])) == [("Hund", range(2, 3))]
    assert len(found("Dog DOG dog", make_entry("dog", ["Hund"], "ignore"))) == 3
    assert found("STRASSE", make_entry("Straße", ["street"], "ignore")) == [("street", range(1))]
    assert found("Dog DOG dog", make_entry("dog", ["Hund"], "ignore", occurrence=2)) == [("Hund", range(1, 2))]


def test_a_capitalised_source_also_allows_capitalised_forms(
    source_subwords: Subwords, target_subwords: Subwords
) -> None:
    dictionary = Dictionary([make_entry("strong", ["stark", "Kraft"], "ignore")])
    forms = [
        [form.text for form in find_matches(dictionary, source_subwords.encode(text), target_subwords)[0].forms]
        for text in ("strong wine", "Strong wine")
    ]
    assert forms == [["stark", "Kraft"], ["stark", "Kraft", "Stark"]]


def test_entries_of_a_sentence_apply_there_only(found) -> None:  # type: ignore[no-untyped-def]
    entries = [make_entry("dog", ["Hund"]), make_entry("dog", ["Dogge"], sentence=3)]
    assert found("a dog", *entries, sentence=2) == [("Hund", range(1, 2))]
    assert found("a dog", *entries, sentence=3) == [("Dogge", range(1, 2))]
    assert found("a dog", *entries) == [("Hund", range(1, 2))]


def test_spaces_and_composed_characters_do_not_matter(found) -> None:  # type: ignore[no-untyped-def]
    assert found("New   York", make_entry("New York", ["N"])) == [("N", range(2))]
    assert found("cafe\u0301 , x", make_entry("caf\u00e9", ["C"])) == [("C", range(1))]


def test_phrases_longer_than_the_sentence_and_empty_sentences(found) -> None:  # type: ignore[no-untyped-def]
    entry = make_entry("a dog and a dog and a dog", ["Hunde"])
    assert found("a dog and a dog", entry) == []
    assert found("", entry) == []


def test_positions_are_those_of_the_words_pieces(source_subwords: Subwords, target_subwords: Subwords) -> None:
    source = source_subwords.encode("the bcd man")  # one piece, some letters, one piece
    dictionary = Dictionary([make_entry("bcd", ["rot"]), make_entry("man", ["Mann"])])
    first, second = find_matches(dictionary, source, target_subwords)
    assert [source.pieces[position - 1] for position in first.positions] == [
        source.pieces[piece] for piece in source.pieces_of_word(1)
    ]
    assert len(first.positions) > 1
    assert list(second.positions) == [len(source.ids)]


def test_characters_outside_the_vocabulary_are_spelled_in_bytes_or_leave_no_form(
    source_subwords: Subwords, target_subwords: Subwords, target_subwords_without_bytes: Subwords
) -> None:
    dictionary = Dictionary([make_entry("dog", ["żółw", "Hund"])])
    source = source_subwords.encode("a dog")
    spelled = find_matches(dictionary, source, target_subwords)[0].forms
    assert [target_subwords.decode(form.after_space).text for form in spelled] == ["żółw", "Hund"]
    written = find_matches(dictionary, source, target_subwords_without_bytes)[0].forms
    assert [form.text for form in written] == ["Hund"]


def test_a_large_dictionary_does_not_slow_matching(source_subwords: Subwords, target_subwords: Subwords) -> None:
    source = source_subwords.encode("the strong man sees the red wine in New York and a dog , " * 3)
    few = Dictionary([make_entry(f"word{i} of phrase", ["x"]) for i in range(10)])
    many = Dictionary([make_entry(f"word{i} of phrase", ["x"]) for i in range(100_000)])

    def seconds(dictionary: Dictionary) -> float:
        start = time.process_time()
        for _ in range(30):
            find_matches(dictionary, source, target_subwords)
        return time.process_time() - start

    ratios = [seconds(many) / seconds(few) for _ in range(5)]
    assert min(ratios) < 2.0
