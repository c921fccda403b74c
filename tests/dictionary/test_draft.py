"""What a translation without the dictionary tells about one with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alidade.alignment.positions import links_of_words
from alidade.dictionary.draft import Draft
from alidade.dictionary.entries import make_entry
from alidade.dictionary.matching import Form, Match
from alidade.dictionary.rules import WordBorders
from alidade.evaluation.terms import TermCase, score_terms, wanted_term
from alidade.text.subwords import Encoding
from alidade.text.words import split_words

WORDS = ("ba", "be", "bi", "bo")
BORDERS = WordBorders(frozenset(), frozenset(), {"dis": ((7, "discul"), (9, "discuri"), (10, "distanță"))})


def encode(text: str, pieces_a_word: int = 2) -> Encoding:
    """Words of two letters, and a piece for each letter; or one piece a word."""
    words = split_words(text, "en")
    pieces = [piece for word in words for piece in (word.text if pieces_a_word == 2 else [word.text])]
    word_of_piece = [number for number in range(len(words)) for _ in range(pieces_a_word)]
    return Encoding(text, words, tuple(pieces), tuple([sum(map(ord, piece)) for piece in pieces]), tuple(word_of_piece))


def match(word: int, *forms: str, forbidden: tuple[str, ...] = ()) -> Match:
    """A match of one source word of one piece."""
    words = range(word, word + 1)
    wanted, unwanted = [tuple([Form(text, (), ()) for text in texts]) for texts in (forms, forbidden)]
    return Match(make_entry("x", forms or ["x"]), words, range(word + 1, word + 2), wanted, unwanted)


sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)


@st.composite
def drafts(draw: st.DrawFn) -> tuple[Draft, list[Match], Encoding]:
    source = encode(" ".join(["x"] * 5), pieces_a_word=1)
    target = encode(draw(sentences))
    positions = draw(st.lists(st.integers(1, 5), min_size=len(target), max_size=len(target)))
    words = draw(st.lists(st.integers(0, 4), unique=True, max_size=3))
    forms = st.lists(st.sampled_from([*WORDS, "ba be", "bi bi"]), min_size=1, max_size=2, unique=True)
    return Draft(target, tuple(positions)), [match(word, *draw(forms)) for word in sorted(words)], source


@given(drafts())
def test_what_is_used_is_what_evaluation_calls_placed(given_draft: tuple[Draft, list[Match], Encoding]) -> None:
    draft, matches, source = given_draft
    uses = draft.uses(matches)
    for use in uses:
        words = draft.target.words[draft.target.word_of_piece[use.pieces[0]] :]
        assert any(
            [word.text for word in words[: len(form.text.split())]] == form.text.split()
            for form in matches[use.match].forms
        )
        assert not {draft.positions[piece] for piece in use.pieces}.isdisjoint(matches[use.match].positions)
    case = TermCase(
        [wanted_term(one, "en") for one in matches],
        [word.text for word in draft.target.words],
        links_of_words(draft.positions, source, draft.target),
        [],
    )
    assert len({use.match for use in uses}) == len(uses)
    assert len(uses) == score_terms([case]).placed


@given(drafts())
def test_a_draft_that_obeys_uses_all_once(given_draft: tuple[Draft, list[Match], Encoding]) -> None:
    draft, matches, _ = given_draft
    used = {use.match for use in draft.uses(matches)}
    disobeyed = draft.disobeyed(matches)
    assert [one for number, one in enumerate(matches) if number not in used] == [
        one for one in disobeyed if matches.index(one) not in used
    ]
    if not disobeyed:
        assert len(used) == len(matches)
    assert used <= draft.translated(matches)


@given(drafts())
def test_what_goes_with_a_match_is_translated_by_nothing_else(
    given_draft: tuple[Draft, list[Match], Encoding],
) -> None:
    draft, matches, _ = given_draft
    word_at = list(zip(draft.target.word_of_piece, draft.positions, strict=True))
    for one, absorbed in zip(matches, draft.absorbed(matches), strict=True):
        own = {word for word, position in word_at if position in one.positions}
        assert all(word in own for word, position in word_at if position in absorbed)
        assert not any(set(absorbed) & set(other.positions) for other in matches)


def test_a_form_that_is_forbidden_or_said_twice_disobeys() -> None:
    draft = Draft(encode("ba be ba"), (1, 1, 2, 2, 1, 1))
    assert draft.disobeyed([match(1, "be")]) == []
    assert draft.disobeyed([match(0, "ba")]), "twice from one word"
    assert draft.disobeyed([match(1, forbidden=("be",))])
    assert draft.disobeyed([match(1, forbidden=("ba",))]) == [], "not for these words"


def test_what_a_drafts_beginning_uses() -> None:
    draft = Draft(encode("ba be bi"), (1, 2, 2, 2, 3, 3))
    matches = [match(1, "ba"), match(2, "bi")]
    assert [use.pieces for use in draft.uses(matches)] == [range(2), range(4, 6)], '"ba" begins at the first word'
    assert draft.uses_within(5, matches) == draft.uses(matches)[:1]
    assert draft.uses_within(1, matches) == ()


def test_an_article_goes_with_its_noun_when_one_word_translates_both() -> None:
    """As in "The disk is", "Discul este"."""
    draft = Draft(encode("ba be"), (1, 2, 3, 3))
    assert draft.absorbed([match(1, "bo")]) == [(1,)]
    assert draft.absorbed([match(0, "bi"), match(1, "bo")]) == [(), ()], "it has an entry of its own"


def test_nothing_goes_with_a_noun_that_another_word_says_more_about() -> None:
    """As in "be my friend", "fie prietenul meu", of which "prietenul" begins at "my" and "meu" points at "friend"."""
    draft = Draft(encode("fi pr me"), (1, 1, 2, 3, 3, 3))
    assert draft.absorbed([match(2, "pr")]) == [()]
    assert draft.absorbed([match(2, "by")]) == [(2,)], "both are replaced"


def test_the_word_that_an_entry_replaces() -> None:
    target = replace(encode("discul este disc", 1), ids=(7, 8, 9))
    draft = Draft(target, (1, 2, 3))
    assert draft.replaced([match(0, "volum")], BORDERS) == {7}
    assert draft.replaced([match(0, "discul")], BORDERS) == {7}, "it is obeyed: a second one would say it again"
    same = Draft(replace(target, ids=(7, 8, 7)), (1, 2, 3))
    assert same.replaced([match(0, "volum")], BORDERS) == set(), "another word begins so"
    assert draft.replaced([match(1, "volum")], BORDERS) == {8}
    alone = Draft(replace(encode("discul este", 1), ids=(7, 8)), (1, 2))
    assert alone.replaced([match(0, "volum")], BORDERS) == {7, 9}, "and no word of its stem"
    assert Draft(encode("de ba"), (1, 1, 2, 2)).replaced([match(0, "bo")], BORDERS) == set(), "too short to tell"


def test_the_form_that_a_draft_has_for_an_entry_does_not_begin_elsewhere_either() -> None:
    """The entry of another word may be disobeyed."""
    target = encode("vechi discul nou", pieces_a_word=1)
    draft = Draft(target, (1, 2, 3))
    obeyed, disobeyed = match(1, "discul"), match(0, "byby")
    assert draft.replaced([obeyed, disobeyed], BORDERS) == {target.ids[0], target.ids[1], 7, 9}
    twice = Draft(encode("vechi discul discul", pieces_a_word=1), (1, 2, 3))
    assert twice.replaced([obeyed, disobeyed], BORDERS) == {target.ids[0]}, "it has another one"


def test_forms_that_a_draft_does_not_have_not_even_inside_a_word() -> None:
    """To rule out the pieces of one that it has, in a longer word, say, would rule out that word."""
    draft = Draft(encode("ba be bibobu", pieces_a_word=1), (1, 2, 3))
    ba, bibobu = draft.target.ids[0], draft.target.ids[2]
    new, said, inside = [Form(text, (piece,), (0,)) for text, piece in (("bo", 7), ("ba", ba), ("bi", bibobu))]
    forms = [(new,), (said, new), (inside,)]
    assert draft.unsaid([replace(match(word), forms=forms[word]) for word in range(3)]) == [new]


def test_a_compound_with_an_entrys_form_would_say_it_twice() -> None:
    """As in "black and white", "alb-negru", of which little attends to "white"."""
    target = replace(encode("xx alb-negru", 1), pieces=("xx", "alb", "-negru"), ids=(7, 8, 9), word_of_piece=(0, 1, 1))
    attention = np.array([[0, 9, 0, 0, 0], [0, 0, 4, 5, 1], [0, 0, 8, 1, 1]], dtype=np.float32)
    draft = Draft(target, (1, 3, 2), attention)
    assert draft.words_for([3]) == {1}, "a third of its attention lies there"
    attention[1] = [0, 0, 8, 1, 1]
    assert draft.words_for([3]) == set()
    assert draft.replaced([match(2, "Alb")], BORDERS) == {8}
    assert draft.replaced([match(2, "gri")], BORDERS) == set()
    assert draft.replaced([match(0, "alb")], BORDERS) == set(), "it does not point there"
    assert draft.absorbed([match(2, "alb")]) == [()], "what is black is still to be said"


def test_a_word_that_points_before_a_match_and_attends_to_it_translates_it() -> None:
    """As in "a kid is playing", "un copil cântă" with "cântă" at "is"."""
    attention = np.array([[0, 8, 1, 1, 0, 0], [0, 1, 7, 1, 1, 0], [0, 0, 0, 5, 4, 1]], dtype=np.float32)
    draft = Draft(encode("un copil cântă", pieces_a_word=1), (1, 2, 3), attention)
    playing = match(3, "joacă")
    looking = draft.looking_at([playing])
    assert looking.positions == (1, 2, 4)
    assert draft.translated([playing]) == set()
    assert looking.translated([playing]) == {0}
    assert draft.looking_at([match(3, "joacă"), match(2, "este")]) == draft, "it has a match of its own"
    assert draft.looking_at([match(1, "fată")]) == draft, "something points at it"
    attention[2] = [0, 0, 0, 8, 1, 1]
    assert draft.looking_at([playing]) == draft, "it does not look there"
    after = replace(draft, positions=(1, 2, 4))
    attention[2] = [0, 0, 0, 4, 5, 1]
    assert after.looking_at([match(2, "este")]) == after, "it points beyond"


@given(drafts(), st.data())
def test_only_matches_that_nothing_points_at_get_a_word(
    given_draft: tuple[Draft, list[Match], Encoding], data: st.DataObject
) -> None:
    draft, matches, source = given_draft
    shares = st.lists(st.integers(1, 9), min_size=len(source) + 2, max_size=len(source) + 2)
    attention = np.array([data.draw(shares) for _ in draft.positions], dtype=np.float32)
    looking = replace(draft, attention=attention).looking_at(matches)
    for before, after in zip(draft.positions, looking.positions, strict=True):
        if before != after:
            (moved_to,) = [one for one in matches if after in one.positions]
            assert set(moved_to.positions).isdisjoint(draft.positions)
            assert not any(before in one.positions for one in matches)
    assert draft.translated(matches) <= looking.translated(matches)


def test_a_word_whose_ending_points_at_a_match_translates_it_if_it_attends_to_it() -> None:
    """As in "hugging the woman", "îmbrățișează" with its last piece at "woman"."""
    attention = np.array([[0, 9, 0, 1, 0], [0, 7, 0, 3, 0]], dtype=np.float32)
    draft = Draft(replace(encode("ba"), ids=(7, 8)), (1, 3), attention)
    woman = match(2, "bo")
    assert draft.words_for(woman.positions) == set()
    assert draft.absorbed([woman]) == [()], "what stands before it is still to be said"
    assert draft.translated([woman]) == {0}
    attention[0] = [0, 7, 0, 3, 0]
    assert draft.words_for(woman.positions) == {0}
    assert draft.absorbed([woman]) == [(1,)]
    attention[:] = [0, 9, 0, 1, 0]
    assert replace(draft, positions=(3, 3)).words_for(woman.positions) == {0}, "all of it points there"
    assert replace(draft, positions=(1, 1)).words_for(woman.positions) == set(), "nothing of it does"


def test_what_a_draft_says_before_a_match_though_it_stands_beyond() -> None:
    """As in "a beautiful big thing", "un lucru frumos mare"."""
    source, target = encode("x x x x .", pieces_a_word=1), encode("un lucru frumos mare .", pieces_a_word=1)
    draft = Draft(target, (1, 4, 2, 3, 5))
    assert draft.said_first([match(1, "x")], source) == {0: {4}}
    assert draft.said_first([match(1, "x"), match(3, "y")], source) == {}, "it has an entry of its own"
    assert draft.said_first([match(0, "x"), match(2, "y")], source) == {1: {4}}
    assert Draft(target, (1, 4, 4, 3, 6)).said_first([match(1, "x")], source) == {}, "nobody knows where it belongs"


def test_source_words_that_a_draft_ends_a_sentence_with() -> None:
    """As in "for the GNOME desktop environment. It", with a full stop for "environment"."""
    source, target = encode("x x x . x .", 1), encode("a . b . c .", pieces_a_word=1)
    assert Draft(target, (1, 2, 3, 4, 5, 6)).inner_marks(source) == [2], "not the source's own marks"
    assert Draft(target, (1, 4, 3, 4, 5, 3)).inner_marks(source) == [], "not the last mark"


def test_words_that_translate_no_match() -> None:
    target = encode("deschide discul nou al discul", pieces_a_word=1)
    draft = Draft(target, (1, 2, 3, 3, 4))
    opens, disk = target.ids[0], target.ids[1]
    assert draft.elsewhere([match(2, "x")]) == {opens, disk}, "short words have many uses"
    assert draft.elsewhere([match(1, "x")]) == {opens}, "a match is translated by a word that begins the same"


def test_marks_come_from_marks_and_from_where_the_draft_has_them() -> None:
    source, target = encode("he left . tom stayed ?", pieces_a_word=1), encode("el pleacă . tom ?", pieces_a_word=1)
    assert Draft(target, (1, 2, 2, 4, 6)).markless(source) == [1, 4, 5]


def test_the_mark_of_a_draft_that_breaks_off_comes_from_the_sources() -> None:
    source, target = encode("four sit at a grey bar .", pieces_a_word=1), encode("patru stau .", pieces_a_word=1)
    broken_off = Draft(target, (1, 2, 4))
    assert broken_off.markless(source) == [1, 2, 3, 4, 5, 6]
    assert broken_off.final_marks(source) == [7]
    through = Draft(encode("ba ba . ba .", pieces_a_word=1), (1, 2, 3, 6, 7))
    assert through.markless(source) == [1, 2, 4, 5, 6]
    assert through.final_marks(source) == [7]
    assert Draft(target, (1, 2, 4)).markless(encode("four sit at a grey bar", 1)) == [1, 2, 3, 5, 6], "it has none"


def test_a_translation_begins_as_the_draft_does() -> None:
    forms = (Form("bo", (1,), (1,)), Form("Bo", (2,), (2,), starts_sentence=True))
    wanted = replace(match(0, "bo"), forms=forms)
    (capital,) = Draft(encode("Ba be"), (1, 1, 2, 2)).with_capitals([wanted])
    assert [(form.text, form.starts_sentence) for form in capital.forms] == [("bo", False), ("Bo", True)]
    (small,) = Draft(encode("ba be"), (1, 1, 2, 2)).with_capitals([wanted])
    assert [(form.text, form.starts_sentence) for form in small.forms] == [("bo", None)]
    exact = replace(match(0, "bo"), forms=forms[:1])
    assert Draft(encode("Ba be"), (1, 1, 2, 2)).with_capitals([exact]) == (exact,), "it has no other form"


def test_a_form_that_begins_a_translation_may_have_a_mark_before_it() -> None:
    wanted = replace(match(1, "bo"), forms=(Form("Bo", (), (), starts_sentence=True),))
    quoted = Encoding('"Bo be', split_words('"Bo be', "en"), ('"', "Bo", "be"), (1, 2, 3), (0, 1, 2))
    assert [use.pieces for use in Draft(quoted, (1, 2, 3)).uses([wanted])] == [range(1, 2)]
    assert not Draft(encode("be Bo", pieces_a_word=1), (1, 2)).uses([wanted])


def test_what_stands_before_a_disobeyed_match_is_kept_but_not_what_may_have_to_agree_with_it() -> None:
    source = encode("x x x x x", pieces_a_word=1)
    text = encode("bala belo bilu boli bula", pieces_a_word=1)

    def num_kept(positions: tuple[int, ...], *words: int) -> int:
        return Draft(text, positions).num_kept([match(word, "byby") for word in words], source)

    assert num_kept((1, 2, 3, 4, 5), 3) == 1, "two words are next to it"
    assert num_kept((1, 2, 2, 4, 5), 3) == 3, "the source has another word between them, an article, say"
    assert num_kept((1, 4, 3, 2, 5), 3) == 1, "where the order changes, all before it may change, too"
    assert num_kept((1, 2, 2, 2, 5), 4, 3) == 4, "the first of several counts"
    assert num_kept((1, 1, 1, 1, 1), 3) == 0, "nobody knows where it belongs"
    short = Draft(encode("bala be bilu", pieces_a_word=1), (1, 3, 5))
    assert short.num_kept([match(4, "byby")], source) == 1, "short words may be articles"


def test_a_draft_that_obeys_is_kept_whole() -> None:
    draft = Draft(encode("bala byby", pieces_a_word=1), (1, 2))
    assert draft.num_kept([match(1, "byby")], encode("x x", pieces_a_word=1)) == 2


def test_a_draft_with_forms_in_place_of_its_words() -> None:
    target = replace(encode("noul discul este vechi", 1), ids=(6, 7, 8, 9))
    draft = Draft(target, (1, 2, 3, 4))
    disk, old = match(1, "volum"), match(3, "bătrân")
    forms = {0: ((20, 2), (21, 2)), 1: ((22, 4),)}
    assert draft.amended([disk], forms) == ((6, 1), (20, 2), (21, 2), (8, 3), (9, 4))
    assert draft.amended([disk, old], forms) == ((6, 1), (20, 2), (21, 2), (8, 3), (22, 4))
    assert draft.amended([disk, old], {0: forms[0]}) is None, "no form for the other"
    assert draft.amended([match(1, "discul"), old], forms) == ((6, 1), (7, 2), (8, 3), (22, 4)), "one is obeyed"
    apart = replace(draft, positions=(2, 1, 2, 4))
    assert apart.amended([disk], forms) is None, "its words stand in two places"
    assert apart.amended([match(2, "volum")], forms) is None, "nothing says it"
    assert replace(draft, positions=(1, 2, 2, 4)).amended([disk], forms) == ((6, 1), (20, 2), (21, 2), (9, 4))


def test_a_preposition_that_points_at_a_match_is_not_what_its_form_replaces() -> None:
    """As in "click the download button", "clic pe butonul de descărcare", of which only "pe" points at "button"."""
    attention = np.array([[0, 8, 1, 1], [0, 2, 5, 3], [0, 1, 8, 1]], dtype=np.float32)
    draft = Draft(encode("clic pe butonul", 1), (1, 3, 2), attention)
    assert draft.amended([match(2, "tastă")], {0: ((20, 3),)}) is None
    attention[1] = [0, 2, 2, 6]
    path = draft.amended([match(2, "tastă")], {0: ((20, 3),)})
    assert path is not None, "it looks at nothing else"
    assert [position for _, position in path] == [1, 3, 2]


@given(drafts())
def test_only_the_words_of_disobeyed_matches_are_replaced(given_draft: tuple[Draft, list[Match], Encoding]) -> None:
    draft, matches, _ = given_draft
    disobeyed = draft.disobeyed(matches)
    form = {number: ((-1 - number, one.positions.start),) for number, one in enumerate(matches)}
    path = draft.amended(matches, form)
    if path is not None:
        written = [piece for piece, _ in path if piece < 0]
        assert sorted(written) == sorted([-1 - matches.index(one) for one in disobeyed])
        whole = iter(zip(draft.target.ids, draft.positions, strict=True))
        assert all(step in whole for step in path if step[0] > 0), "in the draft's order"


def test_the_mark_that_a_draft_ends_with() -> None:
    source = encode("ba be !", pieces_a_word=1)
    assert Draft(encode("bo bi .", pieces_a_word=1), (1, 2, 3)).final_marks(source) == [3]
    assert Draft(encode("bo bi .", pieces_a_word=1), (1, 2, 2)).final_marks(source) == [3], "the source's"
    assert Draft(encode("bo bi", pieces_a_word=1), (1, 3)).final_marks(source) == []
