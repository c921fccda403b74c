from __future__ import annotations

import time
from collections import Counter

import pytest

from alidade.dictionary.entries import Dictionary, Entry, make_entry
from alidade.dictionary.matching import SeenOccurrences, find_matches
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


def test_case_does_not_count_unless_the_entry_says_so(found) -> None:  # type: ignore[no-untyped-def]
    assert found("Dog DOG dog", make_entry("dog", ["Hund"], "exact")) == [("Hund", range(2, 3))]
    assert len(found("Dog DOG dog", make_entry("dog", ["Hund"]))) == 3
    assert found("STRASSE", make_entry("Straße", ["street"], "ignore")) == [("street", range(1))]
    assert found("Dog DOG dog", make_entry("dog", ["Hund"], "ignore", occurrence=2)) == [("Hund", range(1, 2))]


@pytest.fixture
def forms(source_subwords: Subwords, target_subwords: Subwords):  # type: ignore[no-untyped-def]  # a plain helper
    def texts(text: str, *entries: Entry) -> list[str]:
        match = find_matches(Dictionary(entries), source_subwords.encode(text), target_subwords)[0]
        marks = {True: "^", False: "…", None: ""}
        return [marks[form.starts_sentence] + form.text for form in match.forms]

    return texts


def test_capitals_of_the_source_carry_over(forms) -> None:  # type: ignore[no-untyped-def]
    entry = make_entry("strong", ["stark", "Kraft"])
    assert forms("a strong wine", entry) == ["stark", "Kraft", "^Stark"], "it may begin the translation"
    assert forms("A strong wine", entry) == ["…stark", "Kraft", "^Stark"], "and then has to have a capital"
    assert forms("Strong wine", entry) == ["…stark", "Kraft", "Stark"]
    assert forms("a STRONG wine", entry) == ["stark", "Kraft", "Stark", "STARK", "KRAFT"]
    assert forms("A STRONG WINE", entry) == ["STARK", "KRAFT"]


def test_a_single_capital_is_not_all_capitals(forms) -> None:  # type: ignore[no-untyped-def]
    assert forms("A", make_entry("a", ["ein"])) == ["…ein", "Ein"]


def test_a_capital_of_the_entry_is_dropped_within_a_sentence(forms) -> None:  # type: ignore[no-untyped-def]
    assert forms("a strong wine", make_entry("Strong", ["Stark", "ABC"])) == ["Stark", "ABC", "stark"]


def test_exact_case_is_written_as_given(forms) -> None:  # type: ignore[no-untyped-def]
    assert forms("Strong", make_entry("Strong", ["stark"], "exact")) == ["stark"]
    assert forms("NATO", make_entry("NATO", ["OTAN"])) == ["OTAN"], "an acronym is in capitals anyway"


def test_what_is_never_translated_is_written_as_it_stands(forms) -> None:  # type: ignore[no-untyped-def]
    assert forms("a red Dog", make_entry("red dog", is_kept=True, case="ignore")) == ["red Dog"]


def test_what_is_forbidden(source_subwords: Subwords, target_subwords: Subwords) -> None:
    entries = [make_entry("dog", ["Hund"]), make_entry("dog", forbidden=["rot"], sentence=1)]
    (match,) = find_matches(Dictionary(entries), source_subwords.encode("a dog"), target_subwords, 1)
    assert [form.text for form in match.forms] == ["Hund"]
    assert [form.text for form in match.forbidden] == ["rot", "Rot", "ROT"]
    assert match.forbidden[0].after_space == target_subwords.encode("rot").ids
    (match,) = find_matches(Dictionary(entries), source_subwords.encode("a dog"), target_subwords, 2)
    assert match.forbidden == ()


def test_an_entry_that_only_forbids_keeps_no_other_from_matching(
    source_subwords: Subwords, target_subwords: Subwords
) -> None:
    dictionary = Dictionary([make_entry("red dog", forbidden=["rot"]), make_entry("dog", ["Hund"])])
    first, second = find_matches(dictionary, source_subwords.encode("a red dog"), target_subwords)
    assert (first.words, first.forms, len(first.forbidden)) == (range(1, 3), (), 3)
    assert (second.words, [form.text for form in second.forms]) == (range(2, 3), ["Hund"])


def test_occurrences_are_counted_over_all_parts_of_a_text(source_subwords: Subwords, target_subwords: Subwords) -> None:
    dictionary = Dictionary([make_entry("dog", ["Hund"], occurrence=3)])
    seen: SeenOccurrences = Counter()
    parts = [
        find_matches(dictionary, source_subwords.encode(part), target_subwords, 1, seen=seen)
        for part in ("a dog, a Dog.", "a dog and a dog.")
    ]
    assert [[match.words for match in matches] for matches in parts] == [[], [range(1, 2)]]


def test_soft_hyphens_in_entries_match(found) -> None:  # type: ignore[no-untyped-def]
    assert found("a dog", make_entry("d\u00adog", ["Hund"])) == [("Hund", range(1, 2))]


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
    dictionary = Dictionary([make_entry("dog", ["żółw", "Hund"], "exact")])
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
