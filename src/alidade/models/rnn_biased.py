"""`rnn-biased`: the recurrent lexical model with alignment-biased attention (rows 3 and 4 of the paper's table 2).

The baseline's attention, with a learned vector w switched on at the aligned position, inside the tanh:

    energy_ij = v . tanh(W s_i + U h_j + [j = b_i] w)

Only the energy at j = b_i differs from the baseline's, so all others are computed once a hypothesis and shared by
the positions hypothesised for it. w starts at zero: the second stage of training starts exactly at the baseline.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from alidade.models.layers import Dropout, Memory, Output
from alidade.models.recurrent import RecurrentEncoder, WordEmbedding
from alidade.models.rnn import AttentiveDecoder, AttentiveState, tie_embeddings
from alidade.models.transformer import Tying, real_tokens
from alidade.text.batching import Batch


class PositionBias(nn.Module):
    """What w changes at the aligned position: tanh(x + w) - tanh(x), where x = W s_i + U h_{b_i}.

    A difference, so that with w = 0 it is zero to the last bit.
    """

    def __init__(self, attention: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.zeros(attention))  # w

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x + self.vector) - torch.tanh(x)


class RnnBiased(nn.Module):
    """p(e_i | b_i, b_<i, e_<i, f)."""

    is_assisted = True

    def __init__(
        self,
        *,
        embedding: int,
        width: int,
        attention: int,
        unidirectional_encoder_layers: int,
        decoder_layers: int,
        dropout: float,
        source_vocabulary: int,
        target_vocabulary: int,
        tied_embeddings: Tying,
    ) -> None:
        super().__init__()
        source_words = WordEmbedding(source_vocabulary, embedding, dropout)
        target_words = WordEmbedding(target_vocabulary, embedding, dropout)
        bias = PositionBias(attention)
        self.encoder = RecurrentEncoder(source_words, width, unidirectional_encoder_layers, dropout)
        self.decoder = AttentiveDecoder(target_words, width, attention, decoder_layers, dropout, bias)
        self.dropout = Dropout(dropout)
        self.output = Output(width, target_vocabulary)
        tie_embeddings(source_words, target_words, self.output, tied_embeddings)

    def forward(self, batch: Batch, memory: Memory | None = None) -> Tensor:
        """Features (N, D) of the batch's real target tokens, given their positions."""
        memory = self.encode(batch.source) if memory is None else memory
        features: Tensor = self.decoder(batch.target_in, memory, batch.positions)
        dropped: Tensor = self.dropout(real_tokens(features, batch))
        return dropped

    def targets(self, batch: Batch) -> Tensor:
        """e_1 .. e_I, `</s>` of all sentences: (N,)."""
        return real_tokens(batch.target_out, batch)

    def attention(self, batch: Batch) -> Tensor:
        """Attention, and one at b_i: (B, T, S)."""
        weights: list[Tensor] = []
        self.decoder(batch.target_in, self.encode(batch.source), batch.positions, weights)
        indicator = torch.ones_like(batch.positions, dtype=weights[0].dtype)
        return weights[0].scatter_add(2, batch.positions[..., None], indicator[..., None])

    def encode(self, source: Tensor) -> Memory:
        memory: Memory = self.encoder(source)
        return memory

    def start(self, memory: Memory, beam_size: int = 1, *, records_attention: bool = False) -> AttentiveState:
        return AttentiveState(self.decoder, memory, beam_size, records_attention=records_attention)
