"""A step of the search equals the teacher-forced forward, for every recurrent model.

A beam is walked at random: each hypothesis keeps its own words and positions, rows of several positions are
evaluated for it, the next beam is drawn from all rows, and a sentence leaves. Every row of every step is compared
with the forward of its whole history.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from alidade.models.batch import Batch
from alidade.models.jumps import jumps_to_positions
from alidade.text.vocabulary import BOS
from small_models import BEAM, LENGTHS, VOCABULARY, jumps_model, lexical_model, random_batch

LEXICAL = [
    {"kind": "rnn"},
    {"kind": "rnn-biased"},
    {"kind": "rnn-biased", "unidirectional_encoder_layers": 2, "decoder_layers": 1},
    {"kind": "rnn-biased", "decoder_layers": 3, "tied_embeddings": "all", "embedding": 16},
]
JUMPS = [{}, {"decoder_layers": 1}, {"decoder_layers": 3, "unidirectional_encoder_layers": 1, "tied_embeddings": "all"}]
NUM_STEPS = 6
LEAVES_AT = 3


@dataclass
class Beam:
    """What B sentences × K hypotheses have written, flattened to (B * K, steps)."""

    source: Tensor
    words: Tensor
    positions: Tensor

    @property
    def num_sentences(self) -> int:
        return len(self.source)

    def extend(self, parents: Tensor, words: Tensor, positions: Tensor) -> Beam:
        """parents, words, positions: (B * K,) the hypothesis that is extended, and by what."""
        return Beam(
            self.source,
            torch.cat([self.words[parents], words[:, None]], dim=1),
            torch.cat([self.positions[parents], positions[:, None]], dim=1),
        )

    def keep(self, sentences: Tensor) -> Beam:
        hypotheses = (sentences[:, None] * BEAM + torch.arange(BEAM)).flatten()
        return Beam(self.source[sentences], self.words[hypotheses], self.positions[hypotheses])

    def history(self, hypotheses: Tensor, positions: Tensor) -> Batch:
        """The teacher-forced batch of rows: each hypothesis's words, and its positions with the row's at the end."""
        words = self.words[hypotheses]
        previous_positions = torch.cat([torch.zeros_like(positions)[:, None], self.positions[hypotheses]], dim=1)
        all_positions = torch.cat([self.positions[hypotheses], positions[:, None]], dim=1)
        source = self.source[hypotheses // BEAM]
        return Batch(source, words, words, all_positions, previous_positions, words.numel())

    def random_positions(self, hypotheses: Tensor, generator: torch.Generator) -> Tensor:
        last_positions = (self.source != 0).sum(dim=1)[hypotheses // BEAM] - 1
        return (torch.rand(len(hypotheses), generator=generator) * last_positions).long() + 1


def first_beam() -> Beam:
    source = random_batch().source
    no_positions = torch.zeros(len(LENGTHS) * BEAM, 0, dtype=torch.long)
    return Beam(source, torch.full((len(LENGTHS) * BEAM, 1), BOS), no_positions)


@pytest.mark.parametrize("settings", LEXICAL, ids=str)
@torch.inference_mode()
def test_rows_equal_forward(settings: dict[str, object]) -> None:
    model = lexical_model(**settings)
    generator = torch.Generator().manual_seed(5)
    beam = first_beam()
    state = model.start(model.encode(beam.source), BEAM, records_attention=True)
    for step in range(NUM_STEPS):
        if step == LEAVES_AT:
            state.keep(torch.tensor([0, 2]))
            beam = beam.keep(torch.tensor([0, 2]))
        state.advance(beam.words[:, -1].view(beam.num_sentences, BEAM))
        all_hypotheses, all_positions = [], []
        for _ in range(2):  # rounds
            num_rows = torch.randint(0, 4, (len(beam.words),), generator=generator)
            num_rows[::BEAM] += 1
            hypotheses = torch.arange(len(beam.words)).repeat_interleave(num_rows)
            positions = beam.random_positions(hypotheses, generator)
            history = beam.history(hypotheses, positions)
            expected = model(history).view(len(hypotheses), step + 1, -1)[:, -1]
            torch.testing.assert_close(state.evaluate(hypotheses, positions), expected, atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(state.attention(), model.attention(history)[:, -1], atol=1e-5, rtol=1e-5)
            all_hypotheses.append(hypotheses)
            all_positions.append(positions)
        hypotheses, positions = torch.cat(all_hypotheses), torch.cat(all_positions)
        rows = torch.cat(
            [
                (hypotheses // BEAM == sentence).nonzero()[:, 0][torch.randint(0, 2, (BEAM,), generator=generator)]
                for sentence in range(beam.num_sentences)
            ]
        )
        state.commit(rows.view(-1, BEAM), (hypotheses[rows] % BEAM).view(-1, BEAM))
        words = torch.randint(4, VOCABULARY, rows.shape, generator=generator)
        beam = beam.extend(hypotheses[rows], words, positions[rows])


@pytest.mark.parametrize("settings", JUMPS, ids=str)
@torch.inference_mode()
def test_positions_equal_forward(settings: dict[str, object]) -> None:
    model = jumps_model(kind="rnn-jumps", **settings)
    generator = torch.Generator().manual_seed(5)
    beam = first_beam()
    state = model.start(model.encode(beam.source), BEAM)
    for step in range(NUM_STEPS):
        if step == LEAVES_AT:
            state.keep(torch.tensor([0, 2]))
            beam = beam.keep(torch.tensor([0, 2]))
        hypotheses = torch.arange(len(beam.words))
        history = beam.history(hypotheses, torch.zeros_like(hypotheses))
        grid = (beam.num_sentences, BEAM)
        previous_positions = history.previous_positions[:, -1].view(grid)
        logits = model.output(model(history).view(len(hypotheses), step + 1, -1)[:, -1]).view(*grid, -1)
        lengths = (beam.source != 0).sum(dim=1)
        expected = jumps_to_positions(logits, previous_positions, lengths, beam.source.shape[1])
        logp = state.position_logp(beam.words[:, -1].view(grid), previous_positions)
        torch.testing.assert_close(logp, expected, atol=1e-5, rtol=1e-5)
        is_outside = torch.arange(beam.source.shape[1]) >= lengths[:, None]
        assert bool((logp.transpose(1, 2)[is_outside] == -torch.inf).all())
        assert bool((logp[..., 0] == -torch.inf).all())
        torch.testing.assert_close(logp.exp().sum(-1), torch.ones(grid))
        parents = torch.randint(0, BEAM, grid, generator=generator)
        state.commit(parents)
        extended = (torch.arange(beam.num_sentences)[:, None] * BEAM + parents).flatten()
        words = torch.randint(4, VOCABULARY, extended.shape, generator=generator)
        beam = beam.extend(extended, words, beam.random_positions(extended, generator))
