"""The dictionary in the search: tables of rules on one side (`dictionary/grid.py`), the grid's tensors on the other.

`suggest` (paper, section 7): when the most attention of a row points into a match's source words, every word but
the match's gets infinite cost. Whether such a row is taken is decided by the beam.

`require`: every match is used. It begins when the hypothesised position points into its source words (for a
baseline, the attention). A hypothesis whose alignment model points at an unused match more than anywhere else must
look there now; one that wants to end must look at what is unused.

The words of a form are given and not chosen, so they do not have the model's own cost. With it, as in the paper,
hypotheses that pass a source word by win over those that take its suggestion: an assisted system, which can look
elsewhere, then used 42 % of the simulated entries of Multi30k, and a baseline, which cannot, 69 %. At no cost at all
they use 97 % and 89 %, but the mean cost of a word, by which hypotheses are ranked, becomes so low that every further
word looks dear, and translations become short. `GIVEN_COST` lies between that and all that the model's own best word
would have cost; with the latter required translations became 8 % too long, since it pays to put entries off.

In both modes a form is completed once it has begun, and never begins inside a word: a row that most probably goes on
with the word before is left to do so.

Dimensions: B sentences, K beam, S source positions, R rows, V vocabulary, n hypotheses of sentences with matches, r
rows of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from alidade.dictionary.rules import Use, WordBorders
from alidade.dictionary.tables import ConstrainedSentence, StateGrid
from alidade.search.constraints import EvaluatedRows
from alidade.text.vocabulary import EOS

Mode = Literal["suggest", "require"]

FAR_JUMP_LOGP = -20.0
"""log p of a position that a match needs but that is farther away than the alignment model can jump."""
GIVEN_COST = 0.3
"""What a given word costs, as a share of what the word that the model would have written costs."""
LIKELY = 0.5
"""How probable the end of the sentence, or the rest of a word, must be to count as what the model wants."""


class DictionaryConstraints:
    """Constraints of a batch: `search.constraints.Constraints` for a dictionary."""

    def __init__(
        self,
        sentences: Sequence[ConstrainedSentence | None],
        mode: Mode,
        borders: WordBorders,
        *,
        is_assisted: bool,
        beam_size: int,
        vocabulary_size: int,
    ) -> None:
        """sentences: those of the batch, None for those without matches."""
        self.needs_attention = not (mode == "require" and is_assisted)
        self._is_required = mode == "require"
        self._is_assisted = is_assisted
        self._grid = StateGrid(sentences, beam_size, borders, vocabulary_size)
        self._begun: dict[tuple[int, int], tuple[int, ...]] = {}
        self._can_spare: list[bool] = []
        """For each rule whether it lets a word go on instead."""
        self._is_continuing = torch.zeros(vocabulary_size, dtype=torch.bool)
        self._is_continuing[list(borders.continuing)] = True
        self._lay_out_cells()
        self._lay_out_rules()

    def concerns(self, sentence: int) -> bool:
        """Whether a sentence has matches."""
        return self._grid.sentences[sentence] is not None

    def restrict_positions(self, position_logp: Tensor) -> None:
        """A used match's words are not looked at again, and a form under way stays at its own; a required match is not
        passed by."""
        if not len(self._grid):
            return
        cells = self._cells // self._grid.beam_size, self._cells % self._grid.beam_size
        logp = position_logp[*cells][:, : self._grid.num_positions]  # (n, S)
        is_allowed = self._allowed_positions(logp)
        restricted = logp.masked_fill(~is_allowed, -math.inf)
        is_too_far = restricted.amax(dim=1, keepdim=True) == -math.inf
        restricted.masked_fill_(is_too_far & is_allowed, FAR_JUMP_LOGP)
        has_form = torch.from_numpy(self._grid.form_table()[0])
        if has_form.any():  # that it stays there is given, too
            restricted[has_form] = torch.log_softmax(restricted[has_form], dim=1)
        restricted = torch.where(self._is_given[:, None], logp, restricted)
        position_logp[*cells, : self._grid.num_positions] = restricted

    def _allowed_positions(self, logp: Tensor) -> Tensor:
        """(n, S) where each hypothesis may look next, given where its alignment model would."""
        is_allowed = ~torch.from_numpy(self._grid.used_table())
        if self._is_required:
            is_allowed = self._hold_to_unused(logp.argmax(dim=1), is_allowed)
        has_form, form = map(torch.from_numpy, self._grid.form_table())
        return torch.where(has_form[:, None], form, is_allowed)

    def _hold_to_unused(self, best: Tensor, is_allowed: Tensor) -> Tensor:
        """best: (n,) the most probable positions. The end is out of reach while a match is unused."""
        is_unused = torch.from_numpy(self._grid.unused_table())
        has_unused = is_unused.any(dim=1)
        wants_end = (best == self._end_positions) | self._must_hurry
        is_allowed[has_unused, self._end_positions[has_unused]] = False
        points_at_unused = is_unused.gather(1, best[:, None])  # (n, 1)
        is_same_match = self._rule_table == self._rule_table.gather(1, best[:, None])
        is_allowed = torch.where(points_at_unused, is_same_match, is_allowed)
        return torch.where((wants_end & has_unused)[:, None], is_unused, is_allowed)

    def restrict(self, rows: EvaluatedRows, word_logp: Tensor) -> Tensor:
        """Apply to each row the rule of its hypothesis's state at the position that it translates."""
        slots = self._slot_of_cell[rows.hypotheses]
        index = (slots < len(self._grid)).nonzero().view(-1)  # (r,)
        if not len(index):
            return _NO_ROWS
        slots = slots[index]
        numbers = self._rule_table[slots, self._pointed_positions(rows, index)]
        if self._is_assisted:
            # What is at the source's end can only be the target's end.
            numbers = numbers.masked_fill(rows.positions[index] == self._end_positions[slots], 0)
        elif self._is_required:
            numbers = self._keep_from_ending(numbers, slots, index, word_logp)
        numbers = self._spare_unfinished_words(numbers, slots, index, word_logp)
        is_ruled = numbers > 0
        self._note_begun(rows, index[is_ruled], numbers[is_ruled])
        is_ruled &= ~self._is_given[slots]
        return self._apply(numbers[is_ruled].tolist(), index[is_ruled].tolist(), word_logp)

    def _pointed_positions(self, rows: EvaluatedRows, index: Tensor) -> Tensor:
        """(r,) the source positions that rows translate: j(i) by attention, or b_i."""
        if rows.attention is None or not self.needs_attention:
            return rows.positions[index]
        return rows.attention.narrow(1, 1, self._grid.num_positions - 1).index_select(0, index).argmax(dim=1) + 1

    def _keep_from_ending(self, numbers: Tensor, slots: Tensor, index: Tensor, word_logp: Tensor) -> Tensor:
        """Baselines in `require`: a row that would end must begin something unused instead."""
        may_end = torch.from_numpy(self._grid.may_end())[slots]
        wants_end = (word_logp[index, EOS] > math.log(LIKELY)) | self._must_hurry[slots]
        for row in (wants_end & ~may_end).nonzero().view(-1).tolist():
            slot = int(slots[row])
            if self._grid.state(slot).under_way is None:
                numbers[row] = self._grid.rule_to_begin_any(slot)
        word_logp[index[~may_end & ~self._is_given[slots]], EOS] = -math.inf
        return numbers

    def _spare_unfinished_words(self, numbers: Tensor, slots: Tensor, index: Tensor, word_logp: Tensor) -> Tensor:
        """Rows that would begin a form but most probably go on with a word are left to do so, if there is time."""
        if self._grid.step == 0:
            return numbers
        for rule in self._grid.rules[len(self._can_spare) :]:
            self._can_spare.append(bool(rule.begins) and not rule.starts_word)
        rows = (torch.tensor(self._can_spare)[numbers] & ~self._must_hurry[slots]).nonzero().view(-1)
        if not len(rows):
            return numbers
        probability = word_logp.index_select(0, index[rows]).exp_() @ self._padded(word_logp).float()
        return numbers.index_fill(0, rows[probability > LIKELY], 0)

    def _padded(self, word_logp: Tensor) -> Tensor:
        """Whether words go on with the word before, False for the columns past the vocabulary: (V,)."""
        missing = word_logp.shape[1] - len(self._is_continuing)
        if missing > 0:
            self._is_continuing = F.pad(self._is_continuing, (0, missing))
        return self._is_continuing

    def _note_begun(self, rows: EvaluatedRows, ruled_rows: Tensor, numbers: Tensor) -> None:
        hypotheses, positions = rows.hypotheses[ruled_rows].tolist(), rows.positions[ruled_rows].tolist()
        for hypothesis, position, number in zip(hypotheses, positions, numbers.tolist(), strict=True):
            if begins := self._grid.rules[number].begins:
                self._begun[hypothesis, position] = begins

    def _apply(self, numbers: list[int], rows: list[int], word_logp: Tensor) -> Tensor:
        """Let rows write what their rules say; gives those that can write nothing else."""
        rules = [self._grid.rules[number] for number in numbers]
        if not rules:
            return _NO_ROWS
        forced = torch.tensor([row for row, rule in zip(rows, rules, strict=True) if not rule.is_free]).long()
        fresh = torch.tensor(
            [row for row, rule in zip(rows, rules, strict=True) if rule.is_free and rule.starts_word]
        ).long()
        allowed = _pairs(rows, [rule.words for rule in rules])
        kept = word_logp[*allowed]
        kept = kept - _log_sums(kept, allowed[0], forced, len(word_logp))
        if len(forced):
            own_logp = word_logp.index_select(0, forced).amax(dim=1)
            kept = kept + GIVEN_COST * torch.zeros(len(word_logp)).index_copy_(0, forced, own_logp)[allowed[0]]
        word_logp.index_fill_(0, forced, -math.inf)
        if len(fresh):
            words = word_logp.index_select(0, fresh).masked_fill_(self._padded(word_logp), -math.inf)
            word_logp.index_copy_(0, fresh, words)
        word_logp[*_pairs(rows, [rule.banned for rule in rules])] = -math.inf
        word_logp[*allowed] = kept
        return forced

    def end(self, parent: int, position: int, word: int) -> tuple[Use, ...]:
        """The used matches of a hypothesis that ends."""
        return self._grid.uses_at_end(parent, position, word, self._begun)

    def commit(self, parents: Tensor, positions: Tensor, words: Tensor) -> None:
        self._grid.advance(parents.numpy(), positions.numpy(), words.numpy(), self._begun)
        self._begun.clear()
        self._lay_out_rules()

    def keep(self, sentences: Tensor) -> None:
        self._grid.keep(sentences.tolist())
        self._lay_out_cells()
        self._lay_out_rules()

    def _lay_out_cells(self) -> None:
        """Which cells of the grid have constraints: changes only when sentences leave."""
        beam_size, owners = self._grid.beam_size, self._grid.owners
        first_cells = torch.tensor([number * beam_size for number, _ in owners], dtype=torch.long)
        self._cells = (first_cells[:, None] + torch.arange(beam_size)).view(-1)  # (n,)
        self._slot_of_cell = torch.full((len(self._grid.sentences) * beam_size,), len(self._cells))
        self._slot_of_cell[self._cells] = torch.arange(len(self._cells))
        ends = torch.tensor([sentence.end_position for _, sentence in owners], dtype=torch.long)
        self._end_positions = ends.repeat_interleave(beam_size)  # (n,)

    def _lay_out_rules(self) -> None:
        if len(self._grid):
            self._rule_table = torch.from_numpy(self._grid.rule_table)  # (n, S)
            self._is_given = torch.from_numpy(self._grid.is_given())  # (n,)
            self._must_hurry = torch.from_numpy(self._grid.must_hurry())  # (n,)


_NO_ROWS = torch.zeros(0, dtype=torch.long)


def _pairs(rows: list[int], words: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Indexes of (row, word) pairs."""
    pairs = [(row, word) for row, row_words in zip(rows, words, strict=True) for word in row_words]
    indexes = torch.tensor(pairs, dtype=torch.long).view(-1, 2)
    return indexes[:, 0], indexes[:, 1]


def _log_sums(logp: Tensor, rows: Tensor, forced: Tensor, num_rows: int) -> Tensor:
    """For each (row, word) pair the log of its row's summed probability; 0 in rows that are not forced."""
    sums = torch.zeros(num_rows, dtype=torch.float64).index_add_(0, rows, logp.double().exp())
    is_free = torch.ones(num_rows, dtype=torch.bool).index_fill_(0, forced, value=False)
    return sums.log().masked_fill(is_free, 0.0)[rows].to(logp.dtype)
