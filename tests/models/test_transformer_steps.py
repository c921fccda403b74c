"""A cached step of the search equals the teacher-forced forward, for every transformer model."""

from __future__ import annotations

import pytest
import torch

from alidade.models.batch import Batch
from alidade.models.jumps import jumps_to_positions
from small_models import BEAM, LENGTHS, VOCABULARY, jumps_model, lexical_model, random_batch, to_grid

KINDS = [
    {"kind": "transformer"},
    {"kind": "transformer", "pre_norm": False},
    {"kind": "transformer-aligned"},
    {"kind": "transformer-aligned", "pre_norm": False},
    {"kind": "transformer-aligned", "assisted_layers": "top"},
    {"kind": "transformer-aligned", "assisted_layers": [0, 2]},
    {"kind": "transformer-aligned", "assisted_layers": [1]},
]


@pytest.mark.parametrize("settings", KINDS, ids=str)
@torch.inference_mode()
def test_step_equals_forward(settings: dict[str, object]) -> None:
    """The true path wanders through the beam, amid rows of other positions and hypotheses of other words."""
    model = lexical_model(**settings)
    batch = random_batch()
    expected = to_grid(model(batch), batch)
    expected_attention = model.attention(batch)
    state = model.start(model.encode(batch.source), BEAM, records_attention=True)
    generator = torch.Generator().manual_seed(3)
    sentences = torch.arange(len(LENGTHS))
    place = torch.zeros(len(LENGTHS), dtype=torch.long)  # where in the beam the true path is
    for step in range(5):
        if step == 3:  # the second sentence has ended
            kept = torch.tensor([0, 2])
            state.keep(kept)
            sentences, place = sentences[kept], place[kept]
        num_sentences = len(sentences)
        words = torch.randint(4, VOCABULARY, (num_sentences, BEAM), generator=generator)
        words[torch.arange(num_sentences), place] = batch.target_in[sentences, step]
        state.advance(words)
        is_row = torch.rand(num_sentences, BEAM, 4, generator=generator) < 0.6
        is_row[torch.arange(num_sentences), place, 0] = True
        row_positions = torch.randint(1, 4, is_row.shape, generator=generator)
        row_positions[torch.arange(num_sentences), place, 0] = batch.positions[sentences, step]
        hypotheses, _ = is_row.flatten(0, 1).nonzero(as_tuple=True)
        positions = row_positions[is_row]
        half = len(hypotheses) // 2
        features, attention = [], []
        for part in (slice(None, half), slice(half, None)):  # two rounds
            features.append(state.evaluate(hypotheses[part], positions[part]))
            attention.append(state.attention())
        first_row = torch.searchsorted(hypotheses, torch.arange(num_sentences) * BEAM + place)
        torch.testing.assert_close(torch.cat(features)[first_row], expected[sentences, step], atol=2e-5, rtol=1e-4)
        torch.testing.assert_close(
            torch.cat(attention)[first_row], expected_attention[sentences, step], atol=2e-5, rtol=1e-4
        )
        rows = torch.searchsorted(hypotheses, torch.arange(num_sentences)[:, None] * BEAM + place[:, None])
        rows = rows.repeat(1, BEAM)  # all of the next beam extend the true path
        parents = place[:, None].repeat(1, BEAM)
        state.commit(rows, parents)
        place = torch.randint(0, BEAM, (num_sentences,), generator=generator)


@pytest.mark.parametrize("settings", [{}, {"pre_norm": False}], ids=str)
@torch.inference_mode()
def test_jumps_step_equals_forward(settings: dict[str, object]) -> None:
    model = jumps_model(**settings)
    batch = random_batch()
    logits = model.output(to_grid(model(batch), batch))
    memory = model.encode(batch.source)
    expected = jumps_to_positions(logits, batch.previous_positions, memory.lengths, batch.source.shape[1])
    state = model.start(memory, BEAM)
    generator = torch.Generator().manual_seed(3)
    place = torch.zeros(len(LENGTHS), dtype=torch.long)
    sentences = torch.arange(len(LENGTHS))
    for step in range(5):
        if step == 3:
            kept = torch.tensor([0, 2])
            state.keep(kept)
            sentences, place = sentences[kept], place[kept]
        cells = (torch.arange(len(sentences)), place)
        words = torch.randint(4, VOCABULARY, (len(sentences), BEAM), generator=generator)
        words[cells] = batch.target_in[sentences, step]
        previous = torch.randint(1, 4, words.shape, generator=generator)
        previous[cells] = batch.previous_positions[sentences, step]
        logp = state.position_logp(words, previous)
        torch.testing.assert_close(logp[cells], expected[sentences, step], atol=2e-5, rtol=1e-4)
        torch.testing.assert_close(logp.exp().sum(-1), torch.ones(words.shape))
        assert bool((logp[..., 0] == -torch.inf).all())
        state.commit(place[:, None].repeat(1, BEAM))
        place = torch.randint(0, BEAM, (len(sentences),), generator=generator)


@torch.inference_mode()
def test_padding_changes_nothing() -> None:
    model = lexical_model(kind="transformer-aligned")
    batch = random_batch()
    together = to_grid(model(batch), batch)
    for row, (source_length, target_length) in enumerate(LENGTHS):
        alone = Batch(
            batch.source[row : row + 1, : source_length + 2],
            batch.target_in[row : row + 1, : target_length + 1],
            batch.target_out[row : row + 1, : target_length + 1],
            batch.positions[row : row + 1, : target_length + 1],
            batch.previous_positions[row : row + 1, : target_length + 1],
            target_length + 1,
        )
        torch.testing.assert_close(model(alone), together[row, : target_length + 1], atol=1e-5, rtol=1e-4)
