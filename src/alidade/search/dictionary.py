"""The dictionary in the search: which hypotheses its entries allow (paper, section 7).

A dictionary restricts which translations there are; it does not make them better or worse. Sentences whose translation
without it obeys are not searched again (`dictionary/draft.py`); in the others, while a row translates an entry's source
words, only the entry's forms may be written there, and:

- *Given pieces are given.* Hypotheses are ranked as if the best given piece had cost what the model would have written
  there for these words, so those that have it compete fairly with those that do not. So is the end of a form, where the
  model would rather go on with the word. What they cost more is paid back at the end: a form in a silly place, or
  beside a word that says the same, loses against one in its own.
- *Not left behind.* A hypothesis whose alignment model looks at an unused entry more than anywhere else, or well beyond
  one, or at the end of its sentence, looks at that entry now, or at what the draft says before it: "lucru minunat" for
  "beautiful thing". So does one whose last word ends at the entry: who goes on from there says the rest of the sentence
  without it, and then again.
- *Used means done.* Source words whose entry was written, and those that go with them, are not looked at again; a form
  once begun is completed, at its own words, and is a word of its own: nothing that would go on with it may follow.
- *At its own place.* A form that the translation without the dictionary has nowhere is written for its own entry alone.
- *Not twice in a row.* After a form no word of its stem follows: what an entry leaves untold elsewhere, a neighbour
  would say again. And a hypothesis that has just written an entry's form from other words, and would now be held to the
  entry, has used it: "textului" for "text" of "output text", with output = text. If it need not yet, it may not now.
- *The beginning is the draft's*, with a capital or without.
- *The end waits* for required entries: while one is unused, a hypothesis looks neither at the source's end nor at its
  final punctuation mark; one that wants to, or that runs out of length, looks at what is unused, and then ends.
- *Marks come from marks.* What ends a sentence is not written from a word that the draft writes otherwise.
- *The final mark is final.* After what the source's final punctuation mark became, nothing but the end may follow. And
  the end waits for the mark that the draft ends with: nobody saves what an entry costs by breaking off.

An assisted system translates the source words at the hypothesised position. A baseline has none: there the attention
says where a row looks, and a hypothesis that wants to end begins what is unused instead.

All this depends on a hypothesis and its row alone, so `exact` pruning stays exact.

Dimensions: B sentences, K beam, S source positions, R rows, k best pieces of a row.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from alidade.dictionary.rules import FREE, INITIAL, Rule, SentenceRules, State, Use, WordBorders
from alidade.search.hypotheses import Beam, pick
from alidade.search.restrictions import NO_QUESTION, SPARE, Proposals, Question, Restriction, Rows, rule_out
from alidade.search.roles import Bools, Floats, Ints
from alidade.text.vocabulary import BOS, EOS, PAD

FAR_JUMP_LOGP = -20.0
"""log p of a position that a match needs but that is farther away than the alignment model can jump."""
LEFT_BEHIND = 2
"""So many source pieces beyond an unused entry a hypothesis may look, and no farther."""
LIKELY = math.log(0.5)
"""How probable the end of the sentence must be to count as what a baseline wants."""


@dataclass(frozen=True, slots=True)
class TermSentence:
    """A sentence with matches, and its measures."""

    rules: SentenceRules
    end_position: int
    """J + 1, the position of the source's `</s>`."""
    max_length: int
    """Steps that its translation may take, `</s>` among them."""
    num_given: int = 0
    """The first pieces of its translation that somebody else gave: they are watched, not restricted."""
    given_uses: Sequence[Use] = ()
    """What they are known to use: a draft's form may begin at its article, "albă" for "and white" at "and"."""
    final_mark: range = range(0)
    """The positions of the punctuation mark that the source ends with, if it does."""
    inner_marks: Sequence[int] = ()
    """The positions of marks before it that end a sentence."""
    kept_marks: Sequence[int] = ()
    """The positions of the punctuation mark that its translation has to end with, if there is one."""
    markless: Sequence[int] = ()
    """The positions from which no mark is written that ends a sentence."""
    begins_with_capital: bool = False
    """Whether its translation should, as the one without the dictionary does."""
    draft_words: Sequence[int] = ()
    """Pieces that begin words and marks of its translation without the dictionary: what may follow a form."""
    elsewhere: Collection[int] = ()
    """Those of them that translate no match's words: at a match the model may want one of them first."""
    absorbed: Sequence[Sequence[int]] = ()
    """For each match the positions that its form translates, too, such as an article's."""
    said_first: Mapping[int, Collection[int]] = field(default_factory=dict)
    """For matches the positions beyond them that the draft translates before them: a noun's for an adjective."""

    def leaves_behind(self, match: int, position: int) -> bool:
        """Whether who looks there has left a match: at its sentence's end, or well beyond unless that comes first."""
        stop = self.rules.matches[match].positions.stop
        if any(stop <= mark <= position for mark in self.inner_marks):
            return True
        return position >= stop + LEFT_BEHIND and position not in self.said_first.get(match, ())

    def done_with(self, match: int) -> list[int]:
        """The positions that have nothing more to say when a match is used."""
        return [*self.rules.matches[match].positions, *(self.absorbed[match] if self.absorbed else ())]


@dataclass(frozen=True, slots=True)
class _Course:
    """What a hypothesis of a sentence with matches has done so far."""

    state: State = INITIAL
    debt: float = 0.0
    """What it was credited with for given pieces."""
    is_closed: bool = False
    """It has come to the final mark."""
    has_mark: bool = False
    """A mark has been written from there, or from where the translation's last mark has to come from."""
    is_waiting: bool = False
    """It has wanted to end before all required entries were used: it may write them and end, nothing else."""
    has_come_to: int | None = None
    """The unused match from whose source words its last word was completed: it stays there."""


class DictionaryRestriction(Restriction):
    """A dictionary's matches in the sentences of a batch."""

    def __init__(self, sentences: Sequence[TermSentence | None], *, is_assisted: bool) -> None:
        """sentences: those of the batch, None for those without matches."""
        self._sentences = list(sentences)
        self._is_assisted = is_assisted
        self._courses = [[] if sentence is None else [_Course()] for sentence in sentences]
        self._num_hypotheses = 1
        self._step = 0
        self._waiting: set[int] = set()
        self._credits: dict[tuple[int, int], tuple[Rule, dict[int, float]]] = {}
        """Rows, (hypothesis, position), of this step that write what a form needs, or follow it, and their credits."""
        self._asked: list[tuple[int, TermSentence, _Course, list[Rule]]] = []
        """The rows that are being evaluated and may not write anything, with the rules that may hold for them."""
        present = [terms for terms in sentences if terms is not None]
        self._final_marks = np.array(present[0].rules.borders.final_marks if present else (), dtype=np.int64)
        num_positions = max([terms.end_position for terms in present], default=0) + 1
        self._markless: Bools = np.zeros((len(sentences), num_positions), dtype=np.bool_)
        """(B, S) whether no mark that ends a sentence is written from a position."""
        for sentence, terms in enumerate(sentences):
            if terms is not None and is_assisted:
                self._markless[sentence, list(terms.markless)] = True
        self._num_spare: Ints = np.zeros(0, dtype=np.int64)
        """(R,) how many more pieces than the beam has places each of these rows may see."""
        self._last: Ints = np.full((len(sentences), 1), BOS)
        """(B, K) what hypotheses wrote last."""
        self._written: Ints = np.zeros((len(sentences), 1, 0), dtype=np.int64)
        """(B, K, T) all that they wrote."""

    def concerns(self, sentence: int) -> bool:
        return self._sentences[sentence] is not None

    # Where hypotheses may look.

    def join_positions(self, costs: Floats, stand_ins: Ints) -> None:
        """A form points at one of its entry's pieces, or at some to and fro, and translates all of them."""
        for sentence, terms in enumerate(self._sentences):
            for number, match in enumerate(() if terms is None else terms.rules.matches):
                if terms is not None and match.forms:
                    cost = costs[sentence, match.positions].sum()
                    costs[sentence, terms.done_with(number)] = 0
                    costs[sentence, match.positions[-1]] = cost
                    stand_ins[sentence, match.positions] = match.positions[-1]

    def restrict_positions(self, position_logp: Floats) -> None:
        for sentence, (terms, courses) in enumerate(zip(self._sentences, self._courses, strict=True)):
            if terms is None or self._step < terms.num_given:
                continue
            for number, course in enumerate(courses):
                logp = position_logp[sentence, number]
                courses[number] = self._take_last_words(terms, course, self._written[sentence, number], logp)
                if self._restrict_course(terms, courses[number], logp):
                    self._waiting.add(sentence * self._num_hypotheses + number)

    def _take_last_words(self, terms: TermSentence, course: _Course, written: Ints, logp: Floats) -> _Course:
        """Let a match that is due have the form that was just written from elsewhere; written: (T,), logp: (S,).

        One that is not due is not begun right after it, whichever of its forms.
        """
        for match in terms.rules.ending_with(int(written[-1])) if len(written) and not course.is_closed else ():
            state = terms.rules.taken(course.state, match, written.tolist())
            if state is not None and self._is_due(terms, course, match, logp):
                return replace(course, state=state)
            if state is not None:
                logp[list(terms.rules.matches[match].positions)] = -np.inf
        return course

    def _is_due(self, terms: TermSentence, course: _Course, match: int, logp: Floats) -> bool:
        """Whether a hypothesis would now be held to an unused match."""
        left = logp.copy()
        _rule_out_done(terms, course.state, left)
        best = int(left.argmax())
        if best in terms.rules.matches[match].positions or best in (*terms.final_mark, terms.end_position):
            return True
        is_left = match == course.has_come_to or terms.leaves_behind(match, best)
        return is_left or self._must_hurry(terms, course.state)

    def _restrict_course(self, terms: TermSentence, course: _Course, logp: Floats) -> bool:
        """Says whether the hypothesis waits with its end; logp: (S,), changed in place."""
        rules, state = terms.rules, course.state
        if (under_way := rules.must_go_on(state)) is not None:
            _hold_to(logp, under_way)
            logp -= np.logaddexp.reduce(logp)  # that it stays there is given, too
            return course.is_waiting
        if course.is_closed:
            _hold_to(logp, range(terms.final_mark.start, terms.end_position + 1))
        _rule_out_done(terms, state, logp)
        unused, missing = rules.unused(state), rules.missing(state)
        if missing and self._must_wait(terms, course, logp):
            _hold_to(logp, [position for match in missing for position in rules.matches[match].positions])
            return True
        way_out = [*terms.final_mark, terms.end_position]
        if terms.kept_marks and not course.has_mark:
            logp[terms.end_position] = -np.inf
            way_out = [*terms.kept_marks]
        if course.is_waiting:
            _hold_to(logp, way_out)
        if logp.max() == -np.inf:  # nowhere left to look
            _hold_to(logp, [rules.matches[match].positions[0] for match in unused] or way_out[-1:])
        best = int(logp.argmax())
        for match in () if course.is_closed else unused:
            own = rules.matches[match].positions
            if match == course.has_come_to or best in own or terms.leaves_behind(match, best):
                others = [at for at in terms.said_first.get(match, ()) if not terms.leaves_behind(match, at)]
                _hold_to(logp, [*own, *[at for at in others if logp[at] > -np.inf]])
                break
            logp[[mark for mark in terms.inner_marks if terms.leaves_behind(match, mark)]] = -np.inf
        return course.is_waiting

    def _must_wait(self, terms: TermSentence, course: _Course, logp: Floats) -> bool:
        """Keep a hypothesis from ending; says whether it wants to, or has no time for anything but what is unused."""
        best = int(logp.argmax())
        logp[terms.final_mark.start : terms.final_mark.stop] = -np.inf
        logp[terms.end_position] = -np.inf
        wants_end = best == terms.end_position or best in terms.final_mark
        return wants_end or course.is_waiting or self._must_hurry(terms, course.state)

    def _must_hurry(self, terms: TermSentence, state: State) -> bool:
        """Whether the length that is left is just enough for what is unused, and `</s>`."""
        return self._step + terms.rules.pieces_needed(state) + 1 >= terms.max_length

    # What rows may write.

    def ask(self, rows: Rows) -> Question:
        """The pieces that forms may need, and room for those that are ruled out."""
        self._asked = []
        asked: list[tuple[int, int]] = []
        self._num_spare = np.full(len(rows.sentences), len(self._final_marks))
        for row, terms, course in self._concerned(rows):
            possible = self._possible_rules(terms, course, int(rows.positions[row]))
            if all(rule is FREE for rule in possible):
                continue
            self._asked.append((row, terms, course, possible))
            self._num_spare[row] += max([SPARE if rule.starts_word else len(rule.banned) for rule in possible])
            asked += [(row, piece) for rule in possible for piece in _asked_pieces(terms, rule)]
        num_ruled_out = int(self._num_spare.max(initial=0))
        if not asked:
            return NO_QUESTION._replace(num_ruled_out=num_ruled_out)
        pairs = np.array(asked)
        return Question(pairs[:, 0], pairs[:, 1], num_ruled_out)

    def _concerned(self, rows: Rows) -> list[tuple[int, TermSentence, _Course]]:
        """The rows of sentences with matches whose pieces nobody else gives."""
        concerned = []
        cells = (rows.hypotheses % self._num_hypotheses).tolist()
        for row, (sentence, cell) in enumerate(zip(rows.sentences.tolist(), cells, strict=True)):
            terms = self._sentences[sentence]
            if terms is not None and self._step >= terms.num_given:
                concerned.append((row, terms, self._courses[sentence][cell]))
        return concerned

    def _possible_rules(self, terms: TermSentence, course: _Course, position: int) -> list[Rule]:
        """The rule at a position; for a baseline, which looks somewhere only when evaluated, all that may hold."""
        if self._is_assisted:
            return [] if position == terms.end_position else [self._rule(terms, course, position)]
        starts = [match.positions[0] for match in terms.rules.matches]
        return [self._rule(terms, course, start) for start in [None, *starts]]

    def _rule(self, terms: TermSentence, course: _Course, position: int | None) -> Rule:
        is_first = self._step == 0 or (self._step == 1 and course.state.is_glued)  # after a mark, or a space of its own
        return terms.rules.rule(course.state, position, is_first=is_first)

    def restrict(self, rows: Rows, proposed: Proposals, asked_logp: Floats) -> None:
        proposed.limit(self._num_spare)
        is_markless = self._rule_out_marks(rows, proposed)
        if self._step == 0:
            self._rule_out_small_letters(rows, proposed)
        answers = iter(asked_logp.tolist())
        free: list[tuple[int, Rule]] = []
        for row, terms, course, rules in self._asked:
            possible = [(rule, [next(answers) for _ in _asked_pieces(terms, rule)]) for rule in rules]
            chosen = self._choose_rule(row, terms, course, possible, proposed)
            if chosen is None:
                continue
            rule, logp = chosen
            if not rule.is_free:
                self._force(rows, row, rule, logp, terms, proposed)
                continue
            free.append((row, rule))
            if rule.starts_word and not rule.pieces:
                self._offer(row, terms, logp, proposed, is_markless=bool(is_markless[row]))
        if free:
            self._rule_out(rows, free, self._asked[0][1].rules.borders, proposed)

    def _rule_out_marks(self, rows: Rows, proposed: Proposals) -> Bools:
        """Let no mark that ends a sentence be written from a word; says which rows, (R,), that holds for."""
        within = np.minimum(rows.positions, self._markless.shape[1] - 1)  # sentences without matches may be longer
        is_markless: Bools = self._markless[rows.sentences, within]
        is_mark = np.isin(proposed.pieces, self._final_marks)
        np.copyto(proposed.logp, -np.inf, where=is_markless[:, None] & is_mark)
        return is_markless

    def _rule_out_small_letters(self, rows: Rows, proposed: Proposals) -> None:
        """Let translations begin with a capital where the draft does, in all rows that have a choice."""
        sentences = [self._sentences[sentence] for sentence in rows.sentences.tolist()]
        numbers = [row for row, terms in enumerate(sentences) if terms is not None and terms.begins_with_capital]
        borders = [terms.rules.borders for terms in sentences if terms is not None]
        if numbers:
            logp = proposed.logp[numbers]
            is_small = np.isin(proposed.pieces[numbers], borders[0].small_letters)
            has_choice = ((logp > -np.inf) & ~is_small).any(axis=1, keepdims=True)
            proposed.logp[numbers] = np.where(is_small & has_choice, -np.inf, logp)

    def _choose_rule(
        self,
        row: int,
        terms: TermSentence,
        course: _Course,
        possible: list[tuple[Rule, list[float]]],
        proposed: Proposals,
    ) -> tuple[Rule, list[float]] | None:
        if proposed.attention is None:
            return self._spare_word(row, possible[0], terms, course, proposed)
        looks_at = int(proposed.attention[row, 1 : terms.end_position + 1].argmax()) + 1
        numbers = [number for number, match in enumerate(terms.rules.matches) if looks_at in match.positions]
        chosen = possible[numbers[0] + 1] if numbers else possible[0]
        if chosen[0].is_optional:  # it has no other row to go elsewhere with
            chosen = replace(chosen[0], is_free=True, starts_word=True), chosen[1]
        if missing := terms.rules.missing(course.state):
            wants_end = proposed.end_logp[row] > LIKELY or self._must_hurry(terms, course.state)
            if wants_end and course.state.under_way is None:
                begun = [rule for rule in possible[1:] if rule[0].begins and rule[0].begins[0] in missing]
                return _join_rules(begun)
            proposed.end_logp[row] = -np.inf
        return self._spare_word(row, chosen, terms, course, proposed)

    def _spare_word(
        self,
        row: int,
        chosen: tuple[Rule, list[float]],
        terms: TermSentence,
        course: _Course,
        proposed: Proposals,
    ) -> tuple[Rule, list[float]] | None:
        """A row that would begin a form but goes on with the word before is left to do so, if there is time.

        If it goes on as the form itself does, that word is the form.
        """
        rule = chosen[0]
        state = course.state
        if not rule.begins or rule.starts_word or state.is_glued or self._step == 0 or self._must_hurry(terms, state):
            return chosen
        continuing = terms.rules.borders.continuing
        if int(proposed.pieces[row, proposed.logp[row].argmax()]) not in continuing:
            return chosen
        for place, piece in enumerate(proposed.pieces[row].tolist()):
            if piece not in continuing:
                proposed.logp[row, place] = -np.inf
        return None

    def _force(
        self,
        rows: Rows,
        row: int,
        rule: Rule,
        piece_logp: list[float],
        terms: TermSentence,
        proposed: Proposals,
    ) -> None:
        """Let a row write nothing but the rule's pieces."""
        logp = np.array(piece_logp, dtype=np.float32)
        best = logp.max() if rule.is_optional else self._wanted_logp(row, rule, terms, proposed)
        credit = np.minimum(np.maximum(best - logp.max(), np.float32(0.0)), -logp)  # one for all: the model chooses
        proposed.force(row, np.array(rule.pieces), logp, credit)
        proposed.end_logp[row] = -np.inf
        credits_ = dict(zip(rule.pieces, credit.tolist(), strict=True))
        self._credits[int(rows.hypotheses[row]), int(rows.positions[row])] = rule, credits_

    def _wanted_logp(self, row: int, rule: Rule, terms: TermSentence, proposed: Proposals) -> np.float32:
        """What the model would have written: its best piece or, where a form begins, the best that is not some other
        word's translation. A verb that the model wants to write first is no reason to write its object for it."""
        logp = proposed.logp[row]
        if rule.begins and terms.elsewhere:
            is_due = np.array([piece not in terms.elsewhere for piece in proposed.pieces[row].tolist()])
            is_due &= logp > -np.inf
            logp = logp[is_due] if is_due.any() else logp
        return np.float32(logp.max())

    def _offer(
        self, row: int, terms: TermSentence, offered_logp: list[float], proposed: Proposals, *, is_markless: bool
    ) -> None:
        """Let a row after a form propose the draft's words, too.

        After a form that the model does not know, nearly all of its best pieces go on with that word, which they may
        not: their places are free, but for the best one's, which says what the model wanted.
        """
        borders = terms.rules.borders
        left_out = {*proposed.pieces[row].tolist(), *(borders.final_marks if is_markless else ())}
        words = zip(offered_logp, terms.draft_words, strict=True)
        offered = sorted([(-logp, piece) for logp, piece in words if piece not in left_out])
        is_replaceable = borders.are_continuing(proposed.pieces[row])
        is_replaceable[proposed.logp[row].argmax()] = False
        places = np.flatnonzero(is_replaceable)[::-1]  # the worst first
        for place, (cost, piece) in zip(places.tolist(), offered, strict=False):
            proposed.pieces[row, place] = piece
            proposed.logp[row, place] = -cost

    def _rule_out(self, rows: Rows, free: list[tuple[int, Rule]], borders: WordBorders, proposed: Proposals) -> None:
        """Take from rows what their rules ban, and what would go on with the word before a new one.

        That a form ends where it ends is given, so what follows is credited with what it costs more than going on.
        """
        banned = np.array([(row, piece) for row, rule in free for piece in rule.banned], dtype=np.int64).reshape(-1, 2)
        rule_out(proposed, banned[:, 0], banned[:, 1])
        starting = [(row, rule) for row, rule in free if rule.starts_word]
        if not starting:
            return
        numbers = np.array([row for row, _ in starting])
        is_ruled_out = borders.are_continuing(proposed.pieces[numbers])
        for place, (row, rule) in enumerate(starting):
            if rule.pieces:  # which go on with a form, and may
                is_ruled_out[place] &= ~np.isin(proposed.pieces[row], rule.pieces)
        wanted = proposed.logp[numbers].max(axis=1)
        proposed.logp[numbers] = np.where(is_ruled_out, -np.inf, proposed.logp[numbers])
        if proposed.credit is None:
            proposed.credit = np.zeros_like(proposed.logp)
        for row, best, (_, rule) in zip(numbers.tolist(), wanted.tolist(), starting, strict=True):
            logp = proposed.logp[row]
            is_left = logp > -np.inf
            if not rule.pieces and not rule.follows_choice and is_left.any():
                credit = np.minimum(np.float32(best) - logp.max(), -logp[is_left])
                proposed.credit[row, is_left] = credit
                credits_ = dict(zip(proposed.pieces[row, is_left].tolist(), credit.tolist(), strict=True))
                self._credits[int(rows.hypotheses[row]), int(rows.positions[row])] = rule, credits_

    # What hypotheses have done.

    def commit(self, beam: Beam) -> None:
        fields = [field.tolist() for field in (beam.parents, beam.pieces, beam.positions)]
        for sentence, terms in enumerate(self._sentences):
            if terms is not None:
                first = sentence * self._num_hypotheses
                self._courses[sentence] = [
                    self._extend(terms, self._courses[sentence][parent], first + parent, piece, position)
                    for parent, piece, position in zip(*[field[sentence] for field in fields], strict=True)
                ]
        self._num_hypotheses = beam.parents.shape[1]
        self._last = beam.pieces
        self._written = np.concatenate([pick(self._written, beam.parents), beam.pieces[:, :, None]], axis=2)
        self._credits.clear()
        self._waiting.clear()
        self._step += 1

    def _extend(self, terms: TermSentence, course: _Course, hypothesis: int, piece: int, position: int) -> _Course:
        if piece == PAD:
            return course
        rule, credits_ = self._credits.get((hypothesis, position), (None, {}))
        begun = () if rule is None else rule.begins
        if self._step < terms.num_given:
            rules = terms.rules
            begun = rules.begun_at(course.state, position) if self._is_assisted else rules.unused(course.state)
        state = None
        if self._is_assisted and not begun:
            last = int(self._last.ravel()[hypothesis])
            state = terms.rules.goes_on_as_form(course.state, position, last, piece, place=self._step)
        if state is None:
            state = terms.rules.advance(course.state, piece, place=self._step, begun=begun)
        if self._step == terms.num_given - 1:
            state = terms.rules.after_given(state, self._step + 1, terms.given_uses)
        is_waiting = hypothesis in self._waiting
        has_come_to = self._comes_to(terms, state, position)
        if (
            rule is None
            and state is course.state
            and is_waiting == course.is_waiting
            and has_come_to == course.has_come_to
            and (position not in terms.final_mark or (course.is_closed and course.has_mark))
            and (position not in terms.kept_marks or course.has_mark)
        ):
            return course
        is_last_mark = position in (*terms.final_mark, *terms.kept_marks) and terms.rules.borders.is_mark(piece)
        return _Course(
            state,
            course.debt + credits_.get(piece, 0.0),
            course.is_closed or (self._is_assisted and position in terms.final_mark),
            course.has_mark or is_last_mark,
            is_waiting,
            has_come_to,
        )

    def _comes_to(self, terms: TermSentence, state: State, position: int) -> int | None:
        """The match whose words a hypothesis has just translated without writing it: as the end of another word."""
        match = terms.rules.match_at(position) if self._is_assisted and self._step >= terms.num_given else None
        return match if match is not None and match in terms.rules.unused(state) else None

    def keep(self, sentences: Ints) -> None:
        self._sentences = [self._sentences[sentence] for sentence in sentences.tolist()]
        self._courses = [self._courses[sentence] for sentence in sentences.tolist()]
        self._last = self._last[sentences]
        self._written = self._written[sentences]
        self._markless = self._markless[sentences]

    def _ended(self, hypothesis: int, position: int, piece: int) -> _Course | None:
        """The course of a hypothesis after its last piece."""
        sentence, cell = divmod(hypothesis, self._num_hypotheses)
        terms = self._sentences[sentence]
        if terms is None:
            return None
        course = self._courses[sentence][cell]
        if piece != EOS:
            course = self._extend(terms, course, hypothesis, piece, position)
        return replace(course, state=terms.rules.completed(course.state, self._step + (piece != EOS)))

    def uses_of(self, hypothesis: int, position: int, piece: int) -> tuple[Use, ...] | None:
        course = self._ended(hypothesis, position, piece)
        return None if course is None else course.state.uses

    def debt_of(self, hypothesis: int, position: int, piece: int) -> float:
        course = self._ended(hypothesis, position, piece)
        return 0.0 if course is None else course.debt


def _rule_out_done(terms: TermSentence, state: State, logp: Floats) -> None:
    """Let a hypothesis look neither at what is used nor at what goes with a match, used or not."""
    for match in terms.rules.unused(state) if terms.absorbed else ():
        logp[list(terms.absorbed[match])] = -np.inf
    for use in state.uses:
        logp[terms.done_with(use.match)] = -np.inf


def _hold_to(logp: Floats, positions: Sequence[int]) -> None:
    """Let a hypothesis look at these positions only, farther than it can jump if need be."""
    is_allowed: Bools = np.zeros(len(logp), dtype=np.bool_)
    is_allowed[list(positions)] = True
    if (logp[is_allowed] == -np.inf).all():
        logp[is_allowed] = FAR_JUMP_LOGP
    logp[~is_allowed] = -np.inf


def _asked_pieces(terms: TermSentence, rule: Rule) -> Sequence[int]:
    """Pieces whose log-probabilities a rule needs, whether they are among the best or not."""
    return rule.pieces or (terms.draft_words if rule.starts_word else ())


def _join_rules(rules: list[tuple[Rule, list[float]]]) -> tuple[Rule, list[float]]:
    """One of several matches must begin."""
    pieces: dict[int, float] = {}
    for rule, logp in rules:
        pieces |= dict(zip(rule.pieces, logp, strict=True))
    begins = tuple([match for rule, _ in rules for match in rule.begins])
    starts_word = any(rule.starts_word for rule, _ in rules)
    return Rule(tuple(pieces), begins, is_free=False, starts_word=starts_word), list(pieces.values())
