"""What the rules allow, on numbers that stand for words: no model, no subwords."""

from __future__ import annotations

from dataclasses import replace

from alidade.dictionary.entries import make_entry
from alidade.dictionary.matching import Form, Match, Pieces
from alidade.dictionary.rules import (
    ECHO_DISTANCE,
    FREE,
    INITIAL,
    SentenceRules,
    State,
    Use,
    WordBorders,
    _continues_word,
)
from alidade.text.subwords import Subwords
from alidade.text.vocabulary import BOS, EOS, PAD, UNK

CONTINUING = frozenset(range(100, 200))
QUOTE = 50
BORDERS = WordBorders(continuing=CONTINUING, glueing=frozenset([QUOTE]))
WORD = 7


def match(positions: range, *forms: Pieces) -> Match:
    """Glued forms have 1000 added to their first piece."""
    pieces = tuple([Form("?", form, (form[0] + 1000, *form[1:])) for form in forms])
    return Match(make_entry("source", ["target"]), range(len(positions)), positions, pieces)


def rules_for(*matches: Match, must_use_all: bool = False) -> SentenceRules:
    return SentenceRules(matches, BORDERS, range(len(matches)) if must_use_all else ())


def write(rules: SentenceRules, state: State, *words: tuple[int, int], start: int = 0) -> State:
    """Write words while pointing at positions; each word must be allowed there."""
    for place, (position, word) in enumerate(words, start=start):
        rule = rules.rule(state, position)
        assert word in rule.pieces or (
            rule.is_free and word not in rule.banned and not (rule.starts_word and word in CONTINUING)
        )
        state = rules.advance(state, word, place=place, begun=rule.begins)
    return state


def test_without_matches_everything_is_free_and_the_state_stays_the_same() -> None:
    rules = rules_for(must_use_all=True)
    state = State()
    assert rules.rule(state, 3) is FREE
    assert rules.advance(state, WORD, place=0) is state
    assert rules.may_end(state)


def test_pointing_at_a_match_allows_its_first_pieces_only() -> None:
    rules = rules_for(match(range(2, 4), (10, 11), (12,)))
    assert rules.rule(State(), 1) is FREE
    for position in (2, 3):
        rule = rules.rule(State(), position)
        assert (rule.begins, rule.pieces, rule.is_free) == ((0,), (10, 12), False)


def test_a_form_once_begun_is_completed_wherever_the_model_points() -> None:
    rules = rules_for(match(range(2, 3), (10, 11, 12)))
    state = write(rules, State(), (2, 10))
    for position in (1, 2, 3):
        assert (rules.rule(state, position).pieces, rules.rule(state, position).is_free) == ((11,), False)
    assert not rules.may_end(state)
    assert rules.must_go_on(state) == range(2, 3)
    state = write(rules, state, (1, 11), (3, 12), start=1)
    assert rules.must_go_on(state) is None
    assert state.uses == (Use(0, range(3)),)


def test_the_model_chooses_its_way_through_the_trie() -> None:
    rules = rules_for(match(range(2, 3), (10, 11, 12), (10, 13), (14,)))
    assert rules.rule(State(), 2).pieces == (10, 14)
    assert rules.rule(write(rules, State(), (2, 10)), 2).pieces == (11, 13)
    assert write(rules, State(), (2, 10), (2, 13)).uses == (Use(0, range(2)),)
    assert write(rules, State(), (2, 14)).uses == (Use(0, range(1)),)


def test_a_form_that_begins_another_may_end_or_go_on() -> None:
    rules = rules_for(match(range(2, 3), (10,), (10, 101)))
    state = write(rules, State(), (2, 10))
    rule = rules.rule(state, 2)
    assert (rule.pieces, rule.is_free, rule.is_optional) == ((101,), False, True)
    assert rules.rule(state, 1).starts_word
    assert rules.rule(state, 1).pieces == (), "elsewhere in the source the form does not go on"
    assert rules.may_end(state)
    assert rules.must_go_on(state) is None, "it is a form already"
    assert write(rules, state, (2, 101), start=1).uses == (Use(0, range(2)),)
    assert write(rules, state, (1, WORD), start=1).uses == (Use(0, range(1)),)
    assert rules.completed(state, 1).uses == (Use(0, range(1)),)


def test_the_next_form_begins_after_one_that_could_be_longer() -> None:
    rules = rules_for(match(range(2, 3), (10,), (10, 101)), match(range(3, 4), (11,)))
    state = write(rules, State(), (2, 10))
    rule = rules.rule(state, 3)
    assert (rule.pieces, rule.begins, rule.is_free, rule.starts_word) == ((11,), (1,), False, True)
    state = rules.advance(state, 11, place=1, begun=rule.begins)
    assert state.uses == (Use(0, range(1)), Use(1, range(1, 2)))


def test_after_a_form_the_word_has_ended() -> None:
    rules = rules_for(match(range(2, 3), (10,)))
    state = write(rules, State(), (2, 10))
    assert rules.rule(state, 1).starts_word
    assert rules.rule(state, 2).starts_word
    state = write(rules, state, (1, WORD), start=1)
    assert rules.rule(state, 1) is FREE


def test_an_occurrence_is_used_once_and_its_form_is_not_written_again_for_it() -> None:
    rules = rules_for(match(range(2, 3), (10,)))
    state = write(rules, State(), (2, 10), (1, WORD))
    rule = rules.rule(state, 2)
    assert rule.is_free
    assert set(rule.banned) == {10, 1010}
    assert rules.rule(state, 1).banned == (), "another source word may have the same translation"


def test_of_a_form_of_several_pieces_only_the_last_is_banned() -> None:
    rules = rules_for(match(range(2, 3), (10, 10, 11)))
    state = write(rules, State(), (2, 10), (2, 10), (2, 11), (1, WORD))
    assert rules.rule(state, 2).banned == ()
    state = write(rules, state, (2, 10), (2, 10), start=4)
    assert rules.rule(state, 2).banned == (11,)
    state = write(rules, state, (2, 10), start=6)
    assert rules.rule(state, 2).banned == (11,), "the last two of three"
    state = write(rules, state, (2, WORD), start=7)
    assert rules.rule(state, 2).banned == ()


def test_the_same_word_twice_in_the_source_is_two_matches() -> None:
    rules = rules_for(match(range(2, 3), (10,)), match(range(5, 6), (10,)), must_use_all=True)
    state = write(rules, State(), (5, 10), (1, WORD))
    assert rules.rule(state, 2).pieces == (10,)
    assert not rules.may_end(state)
    state = write(rules, state, (2, 10), start=2)
    assert rules.may_end(state)
    assert state.uses == (Use(1, range(1)), Use(0, range(2, 3)))


def test_required_matches_keep_the_sentence_from_ending() -> None:
    one, two = match(range(2, 3), (10, 11)), match(range(4, 5), (12, 13, 14), (15, 16))
    rules = rules_for(one, two, must_use_all=True)
    assert rules.unused(State()) == (0, 1)
    assert rules.pieces_needed(State()) == 5
    state = write(rules, State(), (4, 15))
    assert rules.pieces_needed(state) == 3
    state = write(rules, State(), (4, 12))
    assert rules.unused(state) == (0,)
    assert rules.pieces_needed(state) == 4
    state = write(rules, state, (4, 13), (4, 14), (2, 10), start=1)
    assert not rules.may_end(state)
    state = write(rules, state, (2, 11), start=4)
    assert rules.may_end(state)
    assert rules.pieces_needed(state) == 0
    assert rules_for(one, two).may_end(State()), "suggestions do not"


def test_after_an_opening_mark_a_form_may_follow_without_a_space() -> None:
    rules = rules_for(match(range(2, 3), (10, 11)))
    state = write(rules, State(), (1, QUOTE))
    assert rules.rule(state, 2).pieces == (10, 1010)
    state = write(rules, state, (2, 1010), (2, 11), start=1)
    assert state.uses == (Use(0, range(1, 3)),)


def test_a_match_that_the_vocabulary_cannot_write_is_left_alone() -> None:
    rules = rules_for(match(range(2, 3)), must_use_all=True)
    assert rules.rule(State(), 2) is FREE
    assert rules.may_end(State())


def test_borders_of_words_in_a_vocabulary(target_subwords: Subwords) -> None:
    borders = WordBorders.of(target_subwords)
    pieces = {target_subwords.piece(i): i for i in range(len(target_subwords))}
    assert {pieces["a"], pieces["<0xC3>"]} <= borders.continuing
    assert not {pieces["▁Mann"], pieces[","], PAD, BOS, EOS, UNK} & borders.continuing
    assert {pieces["("], pieces["▁("]} <= borders.glueing
    assert not {pieces["▁Mann"], pieces[","], pieces[")"], EOS} & borders.glueing


def test_what_goes_on_with_a_word() -> None:
    assert all(map(_continues_word, ["a", "ß", "7", "-", "-weiß", "’s", ".5", "<0xE2>"]))
    assert not any(map(_continues_word, ["▁a", "▁", ",", "’", ".", "…", "</s>"]))


def test_chinese_words_follow_without_a_space(target_subwords: Subwords) -> None:
    borders = WordBorders.of(Subwords(target_subwords.model, "zh"))
    assert not borders.continuing
    assert len(borders.glueing) == len(target_subwords)


def test_a_forbidden_form_is_not_completed_from_its_source_words() -> None:
    refused = replace(match(range(2, 3)), forbidden=(Form("?", (20, 21), (1020, 21)), Form("?", (30,), (1030,))))
    rules = rules_for(refused)
    assert rules.rule(State(), 2).banned == (30, 1030)
    assert rules.rule(State(), 3) is FREE
    begun = rules.advance(INITIAL, 20, place=0)
    assert 21 in rules.rule(begun, 2).banned
    assert 21 not in rules.rule(begun, 3).banned


def test_forms_know_where_in_a_sentence_they_begin() -> None:
    forms = (Form("Casa", (10,), (1010,), starts_sentence=True), Form("casa", (11,), (1011,), starts_sentence=False))
    rules = rules_for(replace(match(range(2, 3)), forms=forms))
    assert rules.rule(State(), 2, is_first=True).pieces == (10,)
    assert rules.rule(State(), 2, is_first=False).pieces == (11,)
    assert rules.rule(State(), 2).pieces == (10, 11)


def test_the_word_that_a_match_replaces_does_not_begin_elsewhere() -> None:
    rules = SentenceRules([match(range(2, 3), (10,))], BORDERS, replaced=frozenset({17}))
    assert rules.rule(State(), 4).banned == (17,)
    assert rules.rule(State(), 2).pieces == (10,)


def test_a_form_that_nothing_else_would_write_is_its_own_matchs_alone() -> None:
    one = match(range(2, 3), (10, 101))
    rules = SentenceRules([one], BORDERS, unsaid=one.forms)
    begun = rules.advance(INITIAL, 10, place=0)
    assert rules.rule(begun, 4).banned == (101,)
    assert rules.rule(INITIAL, 4).banned == ()
    state = write(rules, INITIAL, (2, 10), (2, 101))
    assert state.uses == (Use(0, range(2)),)


def test_no_word_of_a_forms_stem_is_written_just_before_its_place(target_subwords: Subwords) -> None:
    """At an article's position: "der starke stark"."""
    borders = WordBorders.of(target_subwords)
    pieces = {target_subwords.piece(i): i for i in range(len(target_subwords))}
    wanted = replace(match(range(5, 6), (10,)), forms=(Form("stark", (10,), (10,)),))
    rules = SentenceRules([wanted], borders)
    assert pieces["▁starker"] in rules.rule(State(), 4).banned
    assert pieces["▁Mann"] not in rules.rule(State(), 4).banned
    assert not rules.rule(State(), 5 - ECHO_DISTANCE - 1).banned
    assert not rules.rule(State(), 6).banned


def test_no_word_of_a_forms_stem_is_written_right_after_it() -> None:
    """ "tigaie tigăii" """
    borders = replace(BORDERS, beginning={"tig": ((30, "tigaie"), (31, "tigaia"), (32, "tigru"))})
    one = match(range(2, 3), (10,))
    rules = SentenceRules([replace(one, forms=(replace(one.forms[0], text="tigaie"),))], borders)
    state = write(rules, State(), (2, 10))
    assert set(rules.rule(state, 3).banned) == {30, 31}
    state = write(rules, state, (3, WORD), start=1)
    assert rules.rule(state, 4).banned == ()


def test_a_form_that_began_at_its_article_is_not_begun_again() -> None:
    rules = rules_for(match(range(2, 4), (10, 111, 112)))
    state = write(rules, State(), (1, 10))
    state = rules.goes_on_as_form(state, 2, 10, 111, place=1) or State()
    assert rules.must_go_on(state) == range(2, 4)
    state = write(rules, state, (3, 112), start=2)
    assert state.uses == (Use(0, range(3)),)
    assert rules.goes_on_as_form(State(), 2, 10, 113, place=1) is None
    assert rules.goes_on_as_form(State(), 1, 10, 111, place=1) is None


def test_the_last_words_are_taken_as_a_form_unless_they_are_anothers() -> None:
    with_spaces = WordBorders(CONTINUING, frozenset(), beginning={"aaa": ((10, "aaa"), (WORD, "aab"))})
    rules = SentenceRules([match(range(2, 3), (10, 101), (10,)), match(range(3, 4), (10,))], with_spaces)
    assert rules.ending_with(101) == [0]
    assert rules.ending_with(10) == [0, 1]
    assert rules.taken(State(), 0, [WORD, 10, 101]) == State((Use(0, range(1, 3)),), has_just_used=True)
    longer = rules.taken(State(), 0, [WORD, 10])
    assert longer == State(under_way=0, written=(10,)), "it may still go on as the longer one"
    assert rules.taken(State(), 0, [10, WORD]) is None
    used = State((Use(1, range(1, 2)),))
    assert rules.taken(used, 0, [WORD, 10]) is None, "it is the other match's"
    assert rules.taken(used, 1, [WORD, 10, 10]) is None, "it has been used"
    assert not rules_for(match(range(2, 3), (10,))).ending_with(10), "nobody knows where words begin"


def test_what_a_given_beginning_is_known_to_use_is_used() -> None:
    """A draft's form may have begun at its article, or with more pieces than one before its own place."""
    rules = rules_for(match(range(2, 3), (10, 110)), match(range(4, 5), (20,)), must_use_all=True)
    other = rules.advance(INITIAL, 20, place=3, begun=(1,))
    uses = (Use(0, range(2)), Use(1, range(3, 4)))
    assert rules.after_given(INITIAL, 2, uses[:1]) == State(uses[:1], has_just_used=True)
    assert rules.after_given(INITIAL, 3, uses[:1]) == State(uses[:1]), "there is a word after it"
    assert rules.after_given(other, 4, uses) == State(uses, has_just_used=True)
    assert rules.after_given(other, 4) == other, "nothing is known"
    under_way = rules.advance(INITIAL, 10, place=0, begun=(0,))
    assert rules.after_given(under_way, 3, uses[:1]) == State(uses[:1])


def test_only_required_matches_keep_a_sentence_from_ending() -> None:
    rules = SentenceRules([match(range(2, 3), (10,)), match(range(4, 5), (11,))], BORDERS, required=[1])
    assert rules.missing(State()) == (1,)
    state = rules.advance(State(), 11, place=0, begun=(1,))
    assert rules.may_end(state)
    assert rules.unused(state) == (0,)
