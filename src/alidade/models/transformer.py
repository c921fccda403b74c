"""The transformer's decoder, with or without alignment heads: forward for training, `DecoderState` for search.

An alignment head adds `W_align h_{b_i}` to the output of a layer's source attention (paper, figure 2). All below
the lowest head's addition does not depend on b_i, so in search it runs once a hypothesis; the rest runs once a
row, a picked (hypothesis, position) pair.

Dimensions: B sentences, K beam, R rows, S source, T target, D width.


`transformer`: the baseline without alignment (Vaswani et al. 2017; row 2 of the paper's table 2).

`transformer-aligned`: the alignment-assisted lexical model (paper, section 3.1, figure 2).

In assisted decoder layers the encoder's state h_{b_i} of the aligned position joins the attention heads:
`W_o [head_1 .. head_K ; h_{b_i}] = W_heads heads + W_align h_{b_i}`. W_align starts at zero, so that the second
stage of training starts exactly at the baseline. `W_align h_j` depends on the source alone: search computes it once
a sentence for all j, and the head costs a look-up and an addition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from alidade.models.batch import Batch
from alidade.models.layers import Embedding, Encoder, Linear, Memory, Output, Shape, pick_states
from alidade.text.vocabulary import PAD


class DecoderLayer(nn.Module):
    """Self-attention, source attention, feed-forward."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attention = shape.self_attention()
        self.self_residual = shape.residual()
        self.source_attention = shape.source_attention()
        self.source_residual = shape.residual()
        self.feed_forward = shape.feed_forward_layer()
        self.feed_forward_residual = shape.residual()

    def forward(self, x: Tensor, memory: Memory, aligned: Tensor | None, weights: list[Tensor] | None) -> Tensor:
        """x: (B, T, D); aligned: W_align h_{b_i}, (B, T, D), if the layer has an alignment head."""
        x = self.self_residual.post(x, self.self_attention(self.self_residual.pre(x), is_causal=True))
        keys, values = self.source_attention.project_source(memory.states)
        heads = self.source_attention(self.source_residual.pre(x), keys, values, memory.mask, weights)
        x = self.source_residual.post(x, heads if aligned is None else heads + aligned)
        return self.feed_forward_residual.post(x, self.feed_forward(self.feed_forward_residual.pre(x)))


class Decoder(nn.Module):
    """A stack of decoder layers over the target."""

    def __init__(self, shape: Shape, num_layers: int, embedding: Embedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = nn.ModuleList(DecoderLayer(shape) for _ in range(num_layers))
        self.norm = shape.final_norm()

    def forward(
        self,
        words: Tensor,
        memory: Memory,
        aligned: Mapping[int, Tensor] | None = None,
        weights: list[Tensor] | None = None,
    ) -> Tensor:
        """words: (B, T) -> features (B, T, D). `aligned` has W_align h_{b_i} for each layer with a head."""
        x = self.embedding(words)
        for number, layer in enumerate(self.layers):
            x = layer(x, memory, aligned.get(number) if aligned else None, weights)
        features: Tensor = self.norm(x)
        return features


Tying = Literal["all", "target", "none"]


class Transformer(nn.Module):
    """p(e_i | e_<i, f)."""

    is_assisted = False

    def __init__(
        self,
        shape: Shape,
        *,
        encoder_layers: int,
        decoder_layers: int,
        source_vocabulary: int,
        target_vocabulary: int,
        tied_embeddings: Tying,
    ) -> None:
        super().__init__()
        self.encoder = Encoder(shape, encoder_layers, source_vocabulary)
        self.decoder = Decoder(shape, decoder_layers, shape.embedding(target_vocabulary))
        self.output = Output(shape.width, target_vocabulary)
        tie_embeddings(self.encoder, self.decoder, self.output, tied_embeddings)

    def forward(self, batch: Batch, memory: Memory | None = None) -> Tensor:
        """Features (N, D) of the batch's real target tokens."""
        memory = self.encode(batch.source) if memory is None else memory
        return real_tokens(self.decoder(batch.target_in, memory), batch)

    def targets(self, batch: Batch) -> Tensor:
        """e_1 .. e_I, `</s>` of all sentences: (N,)."""
        return real_tokens(batch.target_out, batch)

    def attention(self, batch: Batch) -> Tensor:
        """Attention summed over layers and heads, (B, T, S): what j(i) is the maximum of (paper, section 5)."""
        weights: list[Tensor] = []
        self.decoder(batch.target_in, self.encode(batch.source), weights=weights)
        return torch.stack(weights).sum(dim=0)

    def encode(self, source: Tensor) -> Memory:
        memory: Memory = self.encoder(source)
        return memory


def tie_embeddings(encoder: Encoder, decoder: Decoder, output: Output, tying: Tying) -> None:
    """Let source, target and output embeddings share one matrix, or the target's two, or none."""
    if tying == "all":
        decoder.embedding.weight = encoder.embedding.weight
    if tying != "none":
        output.tie(decoder.embedding)


def real_tokens(x: Tensor, batch: Batch) -> Tensor:
    """(B, T, ...) -> (N, ...): what is not padding, sentence by sentence."""
    if batch.num_target_tokens == batch.target_out.numel():
        return x.flatten(0, 1)
    return x[batch.target_out != PAD]


class AlignedTransformer(nn.Module):
    """p(e_i | b_i, b_<i, e_<i, f)."""

    is_assisted = True

    def __init__(
        self,
        shape: Shape,
        *,
        encoder_layers: int,
        decoder_layers: int,
        assisted_layers: Sequence[int],
        source_vocabulary: int,
        target_vocabulary: int,
        tied_embeddings: Tying,
        head_dropout: float = 0.0,
        position_noise: float = 0.0,
    ) -> None:
        super().__init__()
        self.encoder = Encoder(shape, encoder_layers, source_vocabulary)
        self.decoder = Decoder(shape, decoder_layers, shape.embedding(target_vocabulary))
        self.output = Output(shape.width, target_vocabulary)
        self.head_dropout = head_dropout
        self.position_noise = position_noise
        self.assisted_layers = sorted(assisted_layers)
        self.alignment_heads = nn.ModuleList(alignment_head(shape.width) for _ in self.assisted_layers)
        tie_embeddings(self.encoder, self.decoder, self.output, tied_embeddings)

    def forward(self, batch: Batch, memory: Memory | None = None) -> Tensor:
        """Features (N, D) of the batch's real target tokens, given their positions."""
        memory = self.encode(batch.source) if memory is None else memory
        return real_tokens(self._decode(batch, memory), batch)

    def _decode(self, batch: Batch, memory: Memory, weights: list[Tensor] | None = None) -> Tensor:
        positions = batch.positions
        if self.training and self.position_noise:
            positions = perturb_positions(positions, batch.source, self.position_noise)
        aligned_states = pick_states(memory.states, positions)  # h_{b_i}: (B, T, D)
        if self.training and self.head_dropout:
            # One draw for all layers. A zero instead of nothing: other processes of a run wait for its gradient.
            is_on = torch.rand(()) >= self.head_dropout
            aligned_states = aligned_states * (float(is_on) / (1.0 - self.head_dropout))
        features: Tensor = self.decoder(batch.target_in, memory, self._align(aligned_states), weights)
        return features

    def _align(self, states: Tensor) -> dict[int, Tensor]:
        """W_align h for each assisted layer."""
        return {layer: head(states) for layer, head in zip(self.assisted_layers, self.alignment_heads, strict=True)}

    def targets(self, batch: Batch) -> Tensor:
        """e_1 .. e_I, `</s>` of all sentences: (N,)."""
        return real_tokens(batch.target_out, batch)

    def attention(self, batch: Batch) -> Tensor:
        """Attention summed over layers and heads, and one for each assisted layer at b_i: (B, T, S)."""
        weights: list[Tensor] = []
        self._decode(batch, self.encode(batch.source), weights)
        indicator = torch.full_like(batch.positions, len(self.assisted_layers), dtype=weights[0].dtype)
        return torch.stack(weights).sum(dim=0).scatter_add_(2, batch.positions[..., None], indicator[..., None])

    def encode(self, source: Tensor) -> Memory:
        memory: Memory = self.encoder(source)
        return memory


def perturb_positions(positions: Tensor, source: Tensor, share: float) -> Tensor:
    """Move this share of the positions, (B, T), to a neighbour in the source, (B, S)."""
    steps = torch.randint(0, 2, positions.shape, device=positions.device) * 2 - 1
    last = (source != PAD).sum(dim=1, keepdim=True) - 1
    moved = torch.minimum((positions + steps).clamp(min=0), last)
    return torch.where(torch.rand(positions.shape, device=positions.device) < share, moved, positions)


def alignment_head(width: int) -> Linear:
    """The columns of W_o that read h_{b_i}: zero at the start of training."""
    head = Linear(width, width, bias=False)
    nn.init.zeros_(head.weight)
    return head
