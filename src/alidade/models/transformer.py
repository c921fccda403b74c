"""`transformer`: the baseline without alignment (Vaswani et al. 2017; row 2 of the paper's table 2)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from alidade.models.decoder import Decoder, DecoderState
from alidade.models.layers import Embedding, Encoder, Memory, Output, Shape
from alidade.text.batching import Batch
from alidade.text.vocabulary import PAD

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
        self.decoder = Decoder(shape, decoder_layers, Embedding(target_vocabulary, shape.width, shape.dropout))
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

    def start(self, memory: Memory, beam_size: int = 1, *, records_attention: bool = False) -> DecoderState:
        return DecoderState(self.decoder, memory, {}, beam_size, records_attention=records_attention)


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
