"""`transformer-jumps`: the self-attentive alignment model (paper, section 3.2).

A decoder layer has self-attention; then, in the place of source attention, hard attention: the encoder's state of
the *previous* position, h_{b_{i-1}}, is added to the decoder's state; then feed-forward. The output is a
distribution over jumps b_i - b_{i-1}. The model never sees b_i or e_i.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

from alidade.models.batch import Batch
from alidade.models.layers import Encoder, Memory, Output, Shape, pick_states
from alidade.models.transformer import real_tokens


class JumpsLayer(nn.Module):
    """Self-attention, hard attention to the previous position, feed-forward."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attention = shape.self_attention()
        self.self_residual = shape.residual()
        self.source_residual = shape.residual()
        if shape.pre_norm:  # the decoder's state is not read here, so it needs no norm
            self.source_residual.norm = nn.Identity()
        self.feed_forward = shape.feed_forward_layer()
        self.feed_forward_residual = shape.residual()

    def forward(self, x: Tensor, previous_states: Tensor) -> Tensor:
        """x: (B, T, D); previous_states: h_{b_{i-1}}, (B, T, D)."""
        x = self.self_residual.post(x, self.self_attention(self.self_residual.pre(x), is_causal=True))
        x = self.source_residual.post(x, previous_states)
        return self.feed_forward_residual.post(x, self.feed_forward(self.feed_forward_residual.pre(x)))


class TransformerJumps(nn.Module):
    """p(b_i | b_<i, e_<i, f) through the jump b_i - b_{i-1}."""

    def __init__(
        self,
        shape: Shape,
        *,
        encoder_layers: int | None,
        decoder_layers: int,
        source_vocabulary: int,
        target_vocabulary: int,
        tied_embeddings: Literal["all", "none"],
        max_jump: int,
    ) -> None:
        """encoder_layers: None if the model reads the lexical model's encoder."""
        super().__init__()
        self.encoder = None if encoder_layers is None else Encoder(shape, encoder_layers, source_vocabulary)
        self.embedding = shape.embedding(target_vocabulary)
        self.layers = nn.ModuleList(JumpsLayer(shape) for _ in range(decoder_layers))
        self.norm = shape.final_norm()
        self.output = Output(shape.width, 2 * max_jump + 1)
        self.max_jump = max_jump
        self.skip_cost = nn.Parameter(torch.zeros(source_vocabulary), requires_grad=False)
        """Counted, not trained (`corpus/skips.py`); the search reads it (`search/coverage.py`)."""
        if self.encoder is not None and tied_embeddings == "all":
            self.embedding.weight = self.encoder.embedding.weight

    def forward(self, batch: Batch, memory: Memory | None = None) -> Tensor:
        """Features (N, D) of the batch's real target tokens."""
        memory = self.encode(batch.source) if memory is None else memory
        previous_states = pick_states(memory.states, batch.previous_positions)
        x = self.embedding(batch.target_in)
        for layer in self.layers:
            x = layer(x, previous_states)
        return real_tokens(self.norm(x), batch)

    def targets(self, batch: Batch) -> Tensor:
        """The jumps as classes 0 .. 2 * max_jump, wider ones clipped: (N,)."""
        jumps = real_tokens(batch.positions - batch.previous_positions, batch)
        return jumps.clamp(-self.max_jump, self.max_jump) + self.max_jump

    def encode(self, source: Tensor) -> Memory:
        assert self.encoder is not None, "this model reads the lexical model's encoder"
        memory: Memory = self.encoder(source)
        return memory


def jumps_to_positions(jump_logits: Tensor, previous_positions: Tensor, lengths: Tensor, num_positions: int) -> Tensor:
    """log p(position): jumps that leave the sentence are masked, the rest renormalised.

    jump_logits: (B, K, jumps), previous_positions: (B, K), lengths: (B,) -> (B, K, S). Position 0, `<s>`, is never
    a target word's.
    """
    max_jump = jump_logits.shape[-1] // 2
    positions = torch.arange(num_positions)
    jumps = positions - previous_positions[..., None]  # (B, K, S)
    logits = jump_logits.gather(-1, (jumps + max_jump).clamp_(0, 2 * max_jump))
    is_outside = (positions >= lengths[:, None]) | (positions == 0)  # (B, S)
    is_impossible = is_outside[:, None] | (jumps.abs() > max_jump)
    return torch.log_softmax(logits.masked_fill_(is_impossible, -math.inf), dim=-1)
