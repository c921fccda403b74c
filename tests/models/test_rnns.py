"""What the recurrent models see and do not see, and where the second stage of training starts."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from alidade.config import RnnJumpsSettings, RnnSettings
from alidade.models.batch import Batch
from alidade.models.system import build_system
from small_models import LENGTHS, VOCABULARY, jumps_model, lexical_model, random_batch, to_grid

ROW, PLACE = 0, 2
"""The sentence and the target place that the tests change something at."""


def logits(model: nn.Module, batch: Batch) -> Tensor:
    with torch.no_grad():
        result: Tensor = model.output(to_grid(model(batch), batch))
    return result


def changed(tensor: Tensor, place: int) -> Tensor:
    """The same tensor with another value in sentence ROW at `place`."""
    copy = tensor.clone()
    copy[ROW, place] = copy[ROW, place] % 4 + 1
    return copy


def first_difference(before: Tensor, after: Tensor) -> int | None:
    """The first target place of sentence ROW whose logits differ; other sentences must not differ at all."""
    is_different = (before - after).abs().amax(dim=-1) > 1e-6  # (B, T)
    assert not bool(is_different[ROW + 1 :].any())
    places = is_different[ROW].nonzero()
    return int(places[0]) if len(places) else None


def alone(batch: Batch, row: int) -> Batch:
    """One pair of the batch, without padding."""
    source_length, target_length = LENGTHS[row]
    source, *target_side = (tensor[row : row + 1] for tensor in batch.tensors)
    target_in, target_out, positions, previous = (tensor[:, : target_length + 1] for tensor in target_side)
    return Batch(source[:, : source_length + 2], target_in, target_out, positions, previous, target_length + 1)


@pytest.mark.parametrize("kind", ["rnn", "rnn-biased", "rnn-jumps"])
def test_padding_changes_nothing(kind: str) -> None:
    build = jumps_model if kind == "rnn-jumps" else lexical_model
    model = build(kind=kind, unidirectional_encoder_layers=1)
    batch = random_batch()
    together = logits(model, batch)
    for row, (_, target_length) in enumerate(LENGTHS):
        expected = logits(model, alone(batch, row))[0]
        torch.testing.assert_close(together[row, : target_length + 1], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["rnn", "rnn-biased", "rnn-jumps"])
def test_the_encoder_reads_both_ways(kind: str) -> None:
    build = jumps_model if kind == "rnn-jumps" else lexical_model
    encoder = build(kind=kind).encoder
    batch = random_batch()
    with torch.no_grad():
        before, after = encoder(batch.source).states, encoder(changed(batch.source, 3)).states
    is_different = (before - after).abs().amax(dim=-1) > 1e-6  # (B, S)
    assert is_different.any(dim=1).tolist() == [True, False, False]
    assert is_different[ROW].tolist() == [True] * (LENGTHS[ROW][0] + 2) + [False] * 4


def test_the_second_stage_starts_at_the_baseline_to_the_last_bit() -> None:
    baseline = lexical_model(kind="rnn")
    assisted = lexical_model(kind="rnn-biased")
    missing = assisted.load_state_dict(baseline.state_dict(), strict=False)
    assert missing.missing_keys == ["decoder.bias.vector"]
    nn.init.zeros_(assisted.decoder.bias.vector)
    batch = random_batch()
    assert torch.equal(logits(baseline, batch), logits(assisted, batch))


def test_the_bias_starts_at_zero_and_learns() -> None:
    system = build_system(
        RnnSettings(kind="rnn-biased", embedding=12, width=16, attention=10), None, VOCABULARY, VOCABULARY
    )
    assert system.lexical is not None
    vector: Any = system.lexical.decoder.bias.vector
    assert torch.equal(vector, torch.zeros(10))
    system.lexical(random_batch()).square().sum().backward()
    assert float(vector.grad.abs().min()) > 0


def test_the_lexical_model_sees_this_position_and_none_that_follows() -> None:
    model = lexical_model(kind="rnn-biased")
    batch = random_batch()
    after = dataclasses.replace(batch, positions=changed(batch.positions, PLACE))
    assert first_difference(logits(model, batch), logits(model, after)) == PLACE


def test_the_baseline_sees_no_position() -> None:
    model = lexical_model(kind="rnn")
    batch = random_batch()
    after = dataclasses.replace(batch, positions=changed(batch.positions, PLACE))
    assert first_difference(logits(model, batch), logits(model, after)) is None


@pytest.mark.parametrize("kind", ["rnn", "rnn-biased"])
def test_no_word_sees_itself_or_what_follows(kind: str) -> None:
    model = lexical_model(kind=kind)
    batch = random_batch()
    after = dataclasses.replace(batch, target_in=changed(batch.target_in, PLACE + 1))  # e at PLACE
    assert first_difference(logits(model, batch), logits(model, after)) == PLACE + 1


def test_the_alignment_model_sees_neither_this_position_nor_this_word() -> None:
    model = jumps_model(kind="rnn-jumps")
    batch = random_batch()
    before = logits(model, batch)
    after = dataclasses.replace(batch, previous_positions=changed(batch.previous_positions, PLACE + 1))  # b at PLACE
    assert first_difference(before, logits(model, after)) == PLACE + 1
    after = dataclasses.replace(batch, target_in=changed(batch.target_in, PLACE + 1))
    assert first_difference(before, logits(model, after)) == PLACE + 1
    after = dataclasses.replace(batch, positions=changed(batch.positions, PLACE))
    assert first_difference(before, logits(model, after)) is None


def test_the_energy_at_the_position_is_the_papers() -> None:
    """The weights that the first step gives are those of v . tanh(W s + U h_j + [j = b] w), written out."""
    model = lexical_model(kind="rnn-biased", decoder_layers=1)
    decoder, batch = model.decoder, alone(random_batch(), 1)
    position = int(batch.positions[0, 0])
    with torch.no_grad():
        memory = model.encode(batch.source)
        fed, states = decoder.start(memory)
        s, _ = decoder.advance(decoder.word_gates(decoder.embedding(batch.target_in[:, 0])), fed, states)
        hidden = decoder.query.weight @ s[0] + decoder.key(memory.states[0])  # (S, A)
        hidden[position] += decoder.bias.vector
        expected = torch.softmax(torch.tanh(hidden) @ decoder.energy, dim=0)
        expected[position] += 1.0
        torch.testing.assert_close(model.attention(batch)[0, 0], expected)


def test_attention_is_a_distribution_that_prefers_the_position() -> None:
    batch = random_batch()
    with torch.no_grad():
        weights = lexical_model(kind="rnn").attention(batch)
        assisted_weights = lexical_model(kind="rnn-biased").attention(batch)
    torch.testing.assert_close(weights.sum(-1), torch.ones(batch.target_in.shape))
    assert float((weights * (batch.source == 0)[:, None]).abs().max()) == 0.0
    torch.testing.assert_close(assisted_weights.sum(-1), torch.full(batch.target_in.shape, 2.0))
    assert bool((assisted_weights.gather(2, batch.positions[..., None]) >= 1.0).all())


def test_jumps_are_classes_and_wide_ones_are_clipped() -> None:
    model = jumps_model(kind="rnn-jumps", max_jump=2)
    batch = random_batch()
    jumps = (batch.positions - batch.previous_positions).clamp(-2, 2) + 2
    expected = [jumps[row, : target + 1] for row, (_, target) in enumerate(LENGTHS)]
    assert torch.equal(model.targets(batch), torch.cat(expected))


def test_a_joint_alignment_model_reads_the_lexical_encoder() -> None:
    system = build_system(
        RnnSettings(kind="rnn-biased", embedding=12, width=16, attention=10),
        RnnJumpsSettings(embedding=12, width=16, encoder="lexical"),
        VOCABULARY,
        VOCABULARY,
    )
    assert not any(name.startswith("alignment.encoder") for name, _ in system.named_parameters())
    system(random_batch())["alignment"].sum().backward()
    assert system.lexical is not None
    gradient = system.lexical.encoder.embedding.weight.grad
    assert gradient is not None  # the alignment loss trains the shared encoder
    assert float(gradient.abs().sum()) > 0


@pytest.mark.parametrize(("tying", "num_matrices"), [("none", 3), ("target", 2), ("all", 1)])
def test_embeddings_are_tied_as_asked(tying: str, num_matrices: int) -> None:
    model = lexical_model(kind="rnn", tied_embeddings=tying, embedding=16)
    matrices = {id(model.encoder.embedding.weight), id(model.decoder.embedding.weight), id(model.output.weight)}
    assert len(matrices) == num_matrices
