from __future__ import annotations

import pytest

from alidade.alignment.links import Alignment
from alidade.dictionary.entries import make_entry
from alidade.dictionary.simulation import ReferencePair, one_to_one_links, simulate_dictionary
from alidade.errors import AlidadeError


def pair(source: str, reference: str, links: str, baseline: str) -> ReferencePair:
    return ReferencePair(source, reference, Alignment.parse(links), baseline)


def test_links_of_words_with_other_links_are_left_out() -> None:
    links = one_to_one_links(Alignment.parse("0-0 1-1 1-2 2-3 3-3 4-4"))
    assert [str(link) for link in links] == ["0-0", "4-4"]


def test_the_papers_recipe() -> None:
    simulated = simulate_dictionary(
        [
            # "the" and "a" are stop words; the baseline has "Zebra" already, in another case; "." is no word.
            pair(
                "the zebra chases a zebra .",
                "das Zebra jagt einen Wallach .",
                "0-0 1-1 2-2 3-3 4-4 5-5",
                "das zebra verfolgt",
            ),
            pair("purple", "lila", "0-0", "Lila"),
            pair("purple", "", "", ""),
        ],
        "en",
        "de",
    )
    assert simulated.entries == (
        make_entry("chases", ["jagt"], occurrence=1, sentence=1),
        make_entry("zebra", ["Wallach"], occurrence=2, sentence=1),
    )
    assert simulated.num_sentences == 3
    assert simulated.num_reference_words == 7
    assert str(simulated) == "2 entries in 1 of 3 sentences, 28.6% of the reference's 7 words"


def test_stop_words_of_the_target_are_left_out_too() -> None:
    assert not simulate_dictionary([pair("zebra", "der", "0-0", "")], "en", "de").entries


def test_at_most_so_many_entries_a_sentence_from_left_to_right() -> None:
    words = "zebra giraffe lion tiger otter"
    simulated = simulate_dictionary([pair(words, words.upper(), "0-0 1-1 2-2 3-3 4-4", "")], "en", "de", max_entries=2)
    assert [entry.source for entry in simulated.entries] == ["zebra", "giraffe"]


def test_links_outside_the_pair_name_the_sentence() -> None:
    with pytest.raises(AlidadeError, match="sentence 1: link 0-4 is outside the pair"):
        simulate_dictionary([pair("zebra", "Zebra", "0-4", "")], "en", "de")


def test_a_language_without_a_list_has_no_stop_words() -> None:
    assert len(simulate_dictionary([pair("the", "the", "0-0", "")], "tokenised", "xx").entries) == 1
