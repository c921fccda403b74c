"""`transformer-aligned`: the alignment-assisted lexical model (paper, section 3.1, figure 2).

In assisted decoder layers the encoder's state h_{b_i} of the aligned position joins the attention heads:
`W_o [head_1 .. head_K ; h_{b_i}] = W_heads heads + W_align h_{b_i}`. W_align starts at zero, so that the second
stage of training starts exactly at the baseline. `W_align h_j` depends on the source alone: search computes it once
a sentence for all j, and the head costs a look-up and an addition.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from alidade.models.decoder import Decoder, DecoderState
from alidade.models.layers import Embedding, Encoder, Memory, Output, Shape, pick_states
from alidade.models.linear import Linear
from alidade.models.transformer import Tying, real_tokens, tie_embeddings
from alidade.text.batching import Batch


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
    ) -> None:
        super().__init__()
        self.encoder = Encoder(shape, encoder_layers, source_vocabulary)
        self.decoder = Decoder(shape, decoder_layers, Embedding(target_vocabulary, shape.width, shape.dropout))
        self.output = Output(shape.width, target_vocabulary)
        self.assisted_layers = sorted(assisted_layers)
        self.alignment_heads = nn.ModuleList(alignment_head(shape.width) for _ in self.assisted_layers)
        tie_embeddings(self.encoder, self.decoder, self.output, tied_embeddings)

    def forward(self, batch: Batch, memory: Memory | None = None) -> Tensor:
        """Features (N, D) of the batch's real target tokens, given their positions."""
        memory = self.encode(batch.source) if memory is None else memory
        return real_tokens(self._decode(batch, memory), batch)

    def _decode(self, batch: Batch, memory: Memory, weights: list[Tensor] | None = None) -> Tensor:
        aligned_states = pick_states(memory.states, batch.positions)  # h_{b_i}: (B, T, D)
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

    def start(self, memory: Memory, beam_size: int = 1, *, records_attention: bool = False) -> DecoderState:
        tables = self._align(memory.states)  # W_align h_j for all j: (B, S, D) a layer
        return DecoderState(self.decoder, memory, tables, beam_size, records_attention=records_attention)


def alignment_head(width: int) -> Linear:
    """The columns of W_o that read h_{b_i}: zero at the start of training."""
    head = Linear(width, width, bias=False)
    nn.init.zeros_(head.weight)
    return head
