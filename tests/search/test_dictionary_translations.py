"""What dictionary entries do to translations, with models whose translations are known without one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from alidade.config import SearchSettings
from alidade.dictionary.entries import make_entry
from alidade.dictionary.matching import Form, Match, Pieces
from alidade.dictionary.rules import SentenceRules, WordBorders
from alidade.search.beam import BeamSearch
from alidade.search.dictionary import DictionaryRestriction, TermSentence
from alidade.search.hypotheses import Beam, Hypothesis, Request
from alidade.search.restrictions import SPARE, NoPairs, Proposals, Restriction, Rows
from alidade.translator import Mode
from word_by_word import word_by_word_system

BORDERS = WordBorders(
    continuing=frozenset(range(240, 256)), glueing=frozenset(), beginning={"aaa": tuple((i, "aaa") for i in range(240))}
)
WAYS = [(mode, is_assisted) for mode in ("suggest", "require") for is_assisted in (False, True)]
Sentence = tuple[list[int], list[Match]]

every_way = pytest.mark.parametrize(("mode", "is_assisted"), WAYS)


def match(first: int, last: int, *forms: Pieces) -> Match:
    positions = range(first, last + 1)
    return Match(make_entry("s", ["t"]), positions, positions, tuple([Form("?", form, form) for form in forms]))


def translate(
    sentences: list[Sentence],
    mode: Mode,
    is_assisted: bool,
    final_mark: range = range(0),
    absorbed: tuple[tuple[int, ...], ...] = (),
    restrictions: tuple[Restriction, ...] = (),
    borders: WordBorders = BORDERS,
    draft_words: tuple[int, ...] = (),
    markless: tuple[int, ...] = (),
    **changes: object,
) -> list[Hypothesis]:
    settings = SearchSettings.model_validate({"beam_size": 3} | changes)
    requests = [Request(source) for source, _ in sentences]
    terms = [
        TermSentence(
            SentenceRules(matches, borders, range(len(matches)) if mode == "require" else ()),
            end_position=request.end_position,
            max_length=request.length_limit(settings),
            final_mark=final_mark,
            draft_words=draft_words,
            markless=markless,
            absorbed=absorbed,
        )
        if matches
        else None
        for request, (_, matches) in zip(requests, sentences, strict=True)
    ]
    dictionary = DictionaryRestriction(terms, is_assisted=is_assisted)
    search = BeamSearch(word_by_word_system(is_assisted=is_assisted), settings)
    return [result.best for result in search.search(requests, restrictions=[*restrictions, dictionary])]


def pieces(sentences: list[Sentence], mode: Mode, is_assisted: bool) -> list[tuple[int, ...]]:
    return [hypothesis.pieces for hypothesis in translate(sentences, mode, is_assisted)]


@every_way
def test_without_matches_the_models_translate_word_by_word(mode: Mode, is_assisted: bool) -> None:
    assert pieces([([10, 11, 12], []), ([13], [])], mode, is_assisted) == [(110, 111, 112), (113,)]


@pytest.mark.parametrize("mode", ["suggest", "require"])
def test_an_entry_may_have_a_piece_twice(mode: Mode) -> None:
    """Given words are none of the repeats that a search prevents."""
    batch = [([10, 11, 12], [match(2, 2, (200, 241, 241))])]
    assert pieces(batch, mode, is_assisted=True) == [(110, 200, 241, 241, 112)]


@every_way
def test_an_entry_replaces_its_words_translation_in_its_place(mode: Mode, is_assisted: bool) -> None:
    batch: list[Sentence] = [
        ([10, 11, 12], [match(2, 2, (200,))]),
        ([10, 11, 12], []),
        ([10, 11, 12], [match(1, 1, (201,))]),
        ([10, 11, 12], [match(3, 3, (202,))]),
    ]
    expected = [(110, 200, 112), (110, 111, 112), (201, 111, 112), (110, 111, 202)]
    assert pieces(batch, mode, is_assisted) == expected
    if is_assisted:
        assert [hypothesis.positions for hypothesis in translate(batch, mode, is_assisted)] == [(1, 2, 3)] * 4


@every_way
def test_the_same_word_twice_with_one_entry(mode: Mode, is_assisted: bool) -> None:
    twice = [match(1, 1, (200,)), match(3, 3, (200,))]
    assert pieces([([10, 11, 10], twice), ([10, 11, 10], twice[1:])], mode, is_assisted) == [
        (200, 111, 200),
        (110, 111, 200),
    ]


@pytest.mark.parametrize("mode", ["suggest", "require"])
def test_a_form_that_another_word_has_just_become_is_not_said_again(mode: Mode) -> None:
    """Source word 10 becomes 110, and the entry of the word after it wants 110, too: "textului textului"."""
    (result,) = translate([([10, 11, 12], [match(2, 2, (110,))])], mode, is_assisted=True)
    assert result.pieces == (110, 112)
    uses: Any = result.uses
    assert [(use.match, use.pieces) for use in uses] == [(0, range(1))]


@every_way
def test_one_word_to_several(mode: Mode, is_assisted: bool) -> None:
    (result,) = translate([([10, 11, 12], [match(2, 2, (200, 201, 202))])], mode, is_assisted)
    assert result.pieces[:4] == (110, 200, 201, 202)
    if is_assisted:
        assert result.pieces == (110, 200, 201, 202, 112)
        assert result.positions == (1, 2, 2, 2, 3)


@pytest.mark.parametrize("mode", ["suggest", "require"])
def test_several_words_to_one(mode: Mode) -> None:
    (result,) = translate([([10, 11, 12, 13], [match(2, 3, (200,))])], mode, is_assisted=True)
    assert result.pieces == (110, 200, 113), "none of the phrase's words is translated again"


@every_way
def test_every_word_has_an_entry(mode: Mode, is_assisted: bool) -> None:
    matches = [match(position, position, (199 + position,)) for position in (1, 2, 3)]
    assert pieces([([10, 11, 12], matches)], mode, is_assisted) == [(200, 201, 202)]


@every_way
def test_of_several_forms_the_model_takes_the_one_it_likes(mode: Mode, is_assisted: bool) -> None:
    forms = match(2, 2, (200,), (111,), (201, 202))
    assert pieces([([10, 11, 12], [forms])], mode, is_assisted) == [(110, 111, 112)]


@every_way
def test_a_form_is_not_made_another_word_by_what_follows(mode: Mode, is_assisted: bool) -> None:
    """Source word 145 is written as 245, which goes on with the word before."""
    (result,) = translate([([10, 145, 12], [match(1, 1, (200,))])], mode, is_assisted)
    assert result.pieces[0] == 200
    assert result.pieces[1] not in BORDERS.continuing


@every_way
def test_the_drafts_words_follow_a_form_that_the_model_would_only_go_on_with(mode: Mode, is_assisted: bool) -> None:
    """None of a row's best pieces begins a word: without the draft's there would be no way on."""
    only_one_begins = WordBorders(continuing=frozenset(range(4, 256)) - {112}, glueing=frozenset())
    batch: list[Sentence] = [([10, 145, 146], [match(1, 1, (200,))])]
    (lost,) = translate(batch, mode, is_assisted, borders=only_one_begins)
    assert not lost.is_complete or len(lost.pieces) == 1
    (result,) = translate(batch, mode, is_assisted, borders=only_one_begins, draft_words=(112,))
    assert result.is_complete
    assert result.pieces[:2] == (200, 112)


def test_the_drafts_words_displace_only_what_may_not_follow_a_form() -> None:
    """A row proposes 112 after the form, and 241 to 243, which would go on with it; the draft's words are worse."""
    rules = SentenceRules([match(1, 1, (200,))], BORDERS)
    terms = TermSentence(rules, end_position=3, max_length=9, draft_words=(112, 113, 114, 115))
    dictionary = DictionaryRestriction([terms], is_assisted=True)

    def rows_at(position: int) -> Rows:
        return Rows(np.array([0]), np.array([position]), np.array([0]))

    def propose(*pieces: int) -> Proposals:
        logp = -np.arange(1, len(pieces) + 1, dtype=np.float32)
        return Proposals(np.array([pieces]), logp[None], np.array([-np.inf], dtype=np.float32))

    dictionary.ask(rows_at(1))
    dictionary.restrict(rows_at(1), propose(111, 112, 113, 114), np.array([-5], dtype=np.float32))
    one, logp = np.ones((1, 1), dtype=np.int64), np.full((1, 1), -5, dtype=np.float32)
    dictionary.commit(Beam(logp, one - 1, 200 * one, one, logp, logp))

    question = dictionary.ask(rows_at(2))
    assert question.pieces.tolist() == [112, 113, 114, 115]
    proposed = propose(241, 242, 112, 243)
    asked_logp = np.array([-3, -8, -7, -9], dtype=np.float32)
    dictionary.restrict(rows_at(2), proposed, asked_logp)
    left = proposed.pieces[proposed.logp > -np.inf]
    assert sorted(left.tolist()) == [112, 113, 114]


@pytest.mark.parametrize("after_form", [False, True])
def test_a_row_does_not_see_what_is_looked_for_because_of_others(after_form: bool) -> None:
    """A row may rule out more than it has asked for: what goes on with a form, or all but what goes on with a word."""
    rules = SentenceRules([match(1, 1, (200,))], BORDERS)
    terms = TermSentence(rules, end_position=3, max_length=9, draft_words=(112, 113))
    going_on = [241, 242, 243, 114, 244, 245, 246, 247, 248, 249, 250, 251, 252, 253, 254, 115, 240, 116, 255, 117]
    results = []
    for num_proposed in (2 + SPARE, 5 + SPARE, len(going_on)):
        dictionary = DictionaryRestriction([terms], is_assisted=True)
        one, logp = np.ones((1, 1), dtype=np.int64), np.full((1, 1), -5, dtype=np.float32)
        at = Rows(np.array([0]), np.array([1]), np.array([0]))
        for piece in (200 if after_form else 230, None):
            question = dictionary.ask(at)
            pieces, values = np.array(going_on[:num_proposed]), -np.arange(1, num_proposed + 1, dtype=np.float32)
            end_logp = np.array([-np.inf], dtype=np.float32)
            proposed = Proposals(pieces[None], values[None], end_logp, beam_size=2)
            dictionary.restrict(at, proposed, np.full(len(question.pieces), -30, dtype=np.float32))
            if piece is not None:
                position = one if after_form else 2 * one
                dictionary.commit(Beam(logp, one - 1, piece * one, position, logp, logp))
                at = Rows(np.array([0]), np.array([2 if after_form else 1]), np.array([0]))
        is_left = proposed.logp > -np.inf
        results.append(dict(zip(proposed.pieces[is_left].tolist(), proposed.logp[is_left].tolist(), strict=True)))
    assert results[0]
    assert results[0] == results[1] == results[2]


def positions_left(dictionary: DictionaryRestriction, *likely: int) -> list[int]:
    """Where the only hypothesis of a sentence of six words may look, whose alignment model likes these the most."""
    logp: Any = np.full((1, 1, 8), -9, dtype=np.float32)
    logp[0, 0, list(likely)] = -np.arange(1, len(likely) + 1)
    dictionary.restrict_positions(logp)
    return np.flatnonzero(logp[0, 0] > -np.inf).tolist()


def sentence_of_six(borders: WordBorders = BORDERS, **more: Any) -> DictionaryRestriction:
    """The second word has an entry."""
    rules = SentenceRules([match(2, 2, (200,))], borders, required=[0])
    return DictionaryRestriction([TermSentence(rules, end_position=7, max_length=20, **more)], is_assisted=True)


def test_what_the_draft_says_before_an_entry_may_be_said_before_it() -> None:
    """A noun after an adjective with an entry."""
    assert positions_left(sentence_of_six(), 2, 3) == [2]
    assert positions_left(sentence_of_six(said_first={0: {3}}), 2, 3) == [2, 3]
    assert 4 in positions_left(sentence_of_six(), 4)
    assert positions_left(sentence_of_six(), 5) == [2], "it was left behind"
    assert 6 in positions_left(sentence_of_six(said_first={0: {6}}), 6), "the draft goes there first, too"


@pytest.mark.parametrize(("position", "may_look_at"), [(1, range(8)), (2, [2])])
def test_who_has_come_to_an_entry_with_the_end_of_a_word_stays_there(position: int, may_look_at: list[int]) -> None:
    """As "gheață" for "ice", but with its last piece at "skating", which has an entry."""
    dictionary = sentence_of_six()
    one, logp = np.ones((1, 1), dtype=np.int64), np.full((1, 1), -5, dtype=np.float32)
    dictionary.commit(Beam(logp, one - 1, 241 * one, position * one, logp, logp))
    assert positions_left(dictionary, 3) == [at for at in may_look_at if at != 7], "the end waits in any case"
    dictionary.commit(Beam(logp, one - 1, 241 * one, one, logp, logp))
    assert 3 in positions_left(dictionary, 3), "that was elsewhere"


@pytest.mark.parametrize(
    ("piece", "likely", "is_taken"),
    [(200, 2, True), (200, 6, True), (200, 7, True), (200, 3, False), (201, 2, False)],
)
def test_a_hypothesis_that_comes_to_an_entry_with_its_form_has_used_it(piece: int, likely: int, is_taken: bool) -> None:
    """From the word before; it wants to go to the entry, well beyond it, to the end, elsewhere, or has another word."""
    dictionary = sentence_of_six()
    one, logp = np.ones((1, 1), dtype=np.int64), np.full((1, 1), -5, dtype=np.float32)
    dictionary.commit(Beam(logp, one - 1, piece * one, one, logp, logp))
    assert (2 not in positions_left(dictionary, likely)) is (piece == 200), "not twice in a row, in any case"
    uses: Any = dictionary.uses_of(0, 3, 112)
    assert [use.pieces for use in uses] == ([range(1)] if is_taken else [])


@pytest.mark.parametrize(("begins_with_capital", "left"), [(True, [112]), (False, [111, 112])])
def test_a_translation_begins_with_a_capital_if_the_draft_does(begins_with_capital: bool, left: list[int]) -> None:
    borders = WordBorders(BORDERS.continuing, frozenset(), beginning={"aaa": ((111, "aaa"), (112, "Aaa"))})
    dictionary = sentence_of_six(borders, begins_with_capital=begins_with_capital)
    at = Rows(np.array([0, 0]), np.array([1, 3]), np.array([0, 0]))
    dictionary.ask(at)
    pieces, logp = np.array([[111, 112], [111, 111]]), np.array([[-1, -2], [-1, -2]], dtype=np.float32)
    proposed = Proposals(pieces, logp, np.full(2, -np.inf, dtype=np.float32))
    dictionary.restrict(at, proposed, np.zeros(0, dtype=np.float32))
    assert proposed.pieces[0, proposed.logp[0] > -np.inf].tolist() == left
    assert (proposed.logp[1] > -np.inf).all(), "it has no choice"


@pytest.mark.parametrize(("piece", "wanted"), [(5, 210), (112, 211)])
def test_a_form_after_an_opening_mark_begins_the_translation(piece: int, wanted: int) -> None:
    """Or after a space that is a piece of its own."""
    forms = (Form("Casa", (200,), (210,), starts_sentence=True), Form("casa", (201,), (211,), starts_sentence=False))
    borders = WordBorders(BORDERS.continuing, glueing=frozenset([5, 112]))
    rules = SentenceRules([Match(make_entry("s", ["t"]), range(2, 3), range(2, 3), forms)], borders)
    dictionary = DictionaryRestriction([TermSentence(rules, end_position=7, max_length=20)], is_assisted=True)
    one, logp = np.ones((1, 1), dtype=np.int64), np.full((1, 1), -5, dtype=np.float32)
    for written in (piece,) if piece == 5 else (111, piece):
        dictionary.commit(Beam(logp, one - 1, written * one, one, logp, logp))
    question = dictionary.ask(Rows(np.array([0]), np.array([2]), np.array([0])))
    assert wanted in question.pieces
    assert ({210, 211} - {wanted}).isdisjoint(question.pieces.tolist())


def test_a_mark_that_ends_a_sentence_within_a_text_waits_for_the_entries_before_it() -> None:
    assert 4 in positions_left(sentence_of_six(), 3, 4)
    dictionary = sentence_of_six(inner_marks=[4])
    assert 4 not in positions_left(dictionary, 3, 4), "there is something left to say before"
    assert positions_left(dictionary, 4, 3) == [2]
    assert positions_left(dictionary, 5, 3) == [2], "the next sentence is too far"
    assert 1 in positions_left(sentence_of_six(inner_marks=[1]), 1), "no mark of its own sentence"
    said_first = sentence_of_six(inner_marks=[4], said_first={0: {3, 4}})
    assert positions_left(said_first, 4, 3) == [2, 3], "even if the draft has the mark first"


@pytest.mark.parametrize(("piece", "may_end"), [(230, False), (241, False), (113, True)])
def test_only_a_mark_is_what_a_translation_has_to_end_with(piece: int, may_end: bool) -> None:
    """A word may be written from the source's final mark: "elementele din" for "items)"."""
    borders = WordBorders(BORDERS.continuing, frozenset(), beginning={"aaa": ((230, "aaa"),)})
    rules = SentenceRules([match(2, 2, (200,))], borders)
    terms = TermSentence(rules, end_position=7, max_length=20, final_mark=range(6, 7), kept_marks=[6])
    dictionary = DictionaryRestriction([terms], is_assisted=True)
    one, logp = np.ones((1, 1), dtype=np.int64), np.full((1, 1), -5, dtype=np.float32)
    dictionary.commit(Beam(logp, one - 1, piece * one, 6 * one, logp, logp))
    assert positions_left(dictionary, 7) == ([6, 7] if may_end else [6])


@pytest.mark.parametrize("mode", ["suggest", "require"])
def test_a_mark_that_ends_a_sentence_is_written_from_no_word_but_as_part_of_a_form(mode: Mode) -> None:
    """Source word 11 would become 111, a full stop."""
    marks = WordBorders(BORDERS.continuing, frozenset(), final_marks=(111,))
    batch: list[Sentence] = [([10, 11, 12], [match(1, 1, (200,))]), ([10, 11, 12], [match(3, 3, (201, 111))])]
    first, second = translate(batch, mode, is_assisted=True, borders=marks, markless=(1, 2, 3))
    assert first.pieces[0] == 200
    assert 111 not in first.pieces
    assert second.pieces[-2:] == (201, 111)
    assert second.pieces.count(111) == 1
    (free, _) = translate(batch, mode, is_assisted=True, borders=marks)
    assert free.pieces == (200, 111, 112)


@pytest.mark.parametrize("is_assisted", [False, True])
def test_required_entries_that_the_models_would_pass_by_are_used_before_the_end(is_assisted: bool) -> None:
    """An entry of no source word that anything points at (a baseline), or behind others (an assisted system)."""
    matches = [match(1, 1, (200,)), match(4, 4, (201, 202))]
    source = [10, 11, 12] if not is_assisted else [10, 11, 12, 13]
    (result,) = translate([(source, matches)], "require", is_assisted, max_length_factor=0.1)
    uses: Any = result.uses
    assert {use.match for use in uses} == {0, 1}


@pytest.mark.parametrize("mode", ["suggest", "require"])
def test_nothing_but_the_end_follows_the_final_mark(mode: Mode) -> None:
    """The last source word is a full stop; the form before it wants to be long."""
    batch: list[Sentence] = [([10, 11, 12, 13], [match(2, 3, (200, 201, 202))])]
    (result,) = translate(batch, mode, is_assisted=True, final_mark=range(4, 5))
    assert result.pieces == (110, 200, 201, 202, 113)
    assert result.positions[-1] == 4
    assert result.is_complete


@pytest.mark.parametrize("mode", ["suggest", "require"])
def test_what_goes_with_an_entry_is_not_translated_beside_it(mode: Mode) -> None:
    """The first source word is the second one's article."""
    (result,) = translate([([10, 11, 12], [match(2, 2, (200,))])], mode, is_assisted=True, absorbed=((1,),))
    assert result.pieces == (200, 112)


@pytest.mark.parametrize("mode", ["suggest", "require"])
@pytest.mark.parametrize("may_have_pairs", [True, False])
def test_no_word_follows_itself_unless_it_may_or_a_form_does(mode: Mode, may_have_pairs: bool) -> None:
    sentence = [10, 11, 11, 12, 13], [match(4, 4, (200,)), match(5, 5, (200,))]
    no_pairs = NoPairs([may_have_pairs], range(240), (), BORDERS.continuing)
    (result,) = translate([sentence], mode, is_assisted=True, restrictions=(no_pairs,))
    assert result.pieces[-2:] == (200, 200)
    assert (result.pieces[1] == result.pieces[2]) is may_have_pairs
