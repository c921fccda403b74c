"""What the transformer models see and do not see, and where the second stage of training starts."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor, nn

from alidade.config import TransformerJumpsSettings, TransformerSettings
from alidade.errors import AlidadeError
from alidade.models.batch import Batch
from alidade.models.layers import Dropout
from alidade.models.system import build_system
from alidade.models.transformer import perturb_positions
from alidade.text.vocabulary import PAD
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


def test_the_second_stage_starts_at_the_baseline_to_the_last_bit() -> None:
    baseline = lexical_model(kind="transformer")
    assisted = lexical_model(kind="transformer-aligned")
    missing = assisted.load_state_dict(baseline.state_dict(), strict=False)
    assert all(name.startswith("alignment_heads.") for name in missing.missing_keys)
    for head in assisted.alignment_heads:
        nn.init.zeros_(head.weight)
    batch = random_batch()
    assert torch.equal(logits(baseline, batch), logits(assisted, batch))


def test_alignment_heads_start_at_zero() -> None:
    settings = TransformerSettings(
        kind="transformer-aligned", width=16, heads=2, feed_forward=32, encoder_layers=1, decoder_layers=3
    )
    system = build_system(settings, None, VOCABULARY, VOCABULARY)
    assert system.lexical is not None
    assert [float(head.weight.detach().abs().sum()) for head in system.lexical.alignment_heads] == [0.0] * 3


@pytest.mark.parametrize("layers", ["all", "top", [1]], ids=str)
def test_the_lexical_model_sees_this_position_and_none_that_follows(layers: object) -> None:
    model = lexical_model(kind="transformer-aligned", assisted_layers=layers)
    batch = random_batch()
    after = dataclasses.replace(batch, positions=changed(batch.positions, PLACE))
    assert first_difference(logits(model, batch), logits(model, after)) == PLACE


def test_the_baseline_sees_no_position() -> None:
    model = lexical_model(kind="transformer")
    batch = random_batch()
    after = dataclasses.replace(batch, positions=changed(batch.positions, PLACE))
    assert first_difference(logits(model, batch), logits(model, after)) is None


@pytest.mark.parametrize("kind", ["transformer", "transformer-aligned"])
def test_no_word_sees_itself_or_what_follows(kind: str) -> None:
    model = lexical_model(kind=kind)
    batch = random_batch()
    after = dataclasses.replace(batch, target_in=changed(batch.target_in, PLACE + 1))  # e at PLACE
    assert first_difference(logits(model, batch), logits(model, after)) == PLACE + 1


def test_the_alignment_model_sees_neither_this_position_nor_this_word() -> None:
    model = jumps_model()
    batch = random_batch()
    before = logits(model, batch)
    after = dataclasses.replace(batch, previous_positions=changed(batch.previous_positions, PLACE + 1))  # b at PLACE
    assert first_difference(before, logits(model, after)) == PLACE + 1
    after = dataclasses.replace(batch, target_in=changed(batch.target_in, PLACE + 1))
    assert first_difference(before, logits(model, after)) == PLACE + 1
    after = dataclasses.replace(batch, positions=changed(batch.positions, PLACE))
    assert first_difference(before, logits(model, after)) is None


def test_jumps_are_classes_and_wide_ones_are_clipped() -> None:
    model = jumps_model(max_jump=2)
    batch = random_batch()
    jumps = (batch.positions - batch.previous_positions).clamp(-2, 2) + 2
    expected = [jumps[row, : target + 1] for row, (_, target) in enumerate(LENGTHS)]
    assert torch.equal(model.targets(batch), torch.cat(expected))


def test_attention_sums_over_all_layers_and_heads_and_prefers_the_position() -> None:
    batch = random_batch()
    baseline, assisted = lexical_model(kind="transformer"), lexical_model(kind="transformer-aligned")
    num_weights = 3 * 2  # layers, heads
    with torch.no_grad():
        weights: Tensor = baseline.attention(batch)
        assisted_weights: Tensor = assisted.attention(batch)
    torch.testing.assert_close(weights.sum(-1), torch.full(batch.target_in.shape, float(num_weights)))
    torch.testing.assert_close(assisted_weights.sum(-1), torch.full(batch.target_in.shape, num_weights + 3.0))
    at_positions = assisted_weights.gather(2, batch.positions[..., None])
    assert bool((at_positions >= 3.0).all())


def test_a_joint_alignment_model_reads_the_lexical_encoder() -> None:
    shape = {"width": 16, "heads": 2, "feed_forward": 32, "decoder_layers": 2, "encoder_layers": 1}
    system = build_system(
        TransformerSettings.model_validate(shape | {"kind": "transformer-aligned"}),
        TransformerJumpsSettings.model_validate(shape | {"encoder": "lexical"}),
        VOCABULARY,
        VOCABULARY,
    )
    assert not any(name.startswith("alignment.encoder") for name, _ in system.named_parameters())
    features = system(random_batch())
    features["alignment"].sum().backward()
    assert system.lexical is not None
    gradient = system.lexical.encoder.embedding.weight.grad
    assert gradient is not None  # the alignment loss trains the shared encoder


def test_tied_embeddings_need_one_vocabulary() -> None:
    with pytest.raises(AlidadeError, match=r"20 and 30 pieces.*subwords\.joint"):
        build_system(TransformerSettings(), None, 20, 30)


def test_dropout_keeps_the_mean_and_drops_its_share() -> None:
    dropout = Dropout(0.3)
    torch.manual_seed(1)
    x = torch.ones(400, 501, requires_grad=True)
    y = dropout(x)
    assert float((y.detach() == 0).float().mean()) == pytest.approx(0.3, abs=0.01)
    assert float(y.detach().mean()) == pytest.approx(1.0, abs=0.01)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, y.detach())  # the same mask backward
    assert torch.equal(dropout.eval()(x), x)


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("kind", ["transformer", "transformer-aligned", "transformer-jumps"])
@torch.inference_mode()
def test_padding_changes_nothing(kind: str, pre_norm: bool) -> None:
    build = jumps_model if kind == "transformer-jumps" else lexical_model
    model = build(kind=kind, pre_norm=pre_norm)
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


def test_head_dropout_turns_all_heads_off_in_a_share_of_the_batches() -> None:
    model = lexical_model(kind="transformer-aligned", head_dropout=0.4, dropout=0.0)
    batch = random_batch()
    without = lexical_model(kind="transformer", dropout=0.0)
    without.load_state_dict(model.state_dict(), strict=False)
    assert not torch.allclose(logits(model.eval(), batch), logits(without, batch), atol=1e-2)
    torch.manual_seed(3)
    model.train()
    is_off = [torch.allclose(logits(model, batch), logits(without, batch), atol=1e-6) for _ in range(200)]
    assert 50 < sum(is_off) < 110


def test_noise_moves_positions_to_neighbours_in_the_sentence() -> None:
    positions = torch.tensor([[0, 1, 2, 3], [0, 1, 1, 0]])
    source = torch.tensor([[5, 6, 7, 8], [5, 6, PAD, PAD]])
    torch.manual_seed(1)
    moves = torch.stack([perturb_positions(positions, source, 0.5) for _ in range(400)]) - positions
    assert int(moves.abs().max()) == 1
    assert 0.4 < float((moves[:, 0, 1:3] != 0).float().mean()) < 0.6
    assert int((moves[:, 0] + positions[0]).max()) == 3, "the source's last piece"
    assert int((moves[:, 1] + positions[1]).max()) == 1, "the last before the padding"
    assert int((moves + positions).min()) == 0
    assert torch.equal(perturb_positions(positions, source, 0.0), positions)
