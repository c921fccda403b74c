"""`rnn-jumps`: the recurrent alignment model (paper, section 6).

    r_i = LSTM([e_{i-1}; h_{b_{i-1}}])                          stacked layers
    p(b_i - b_{i-1} | b_<i, e_<i, f) = softmax(W r_i)           jumps of -max_jump .. max_jump

h_{b_{i-1}} is the encoder's state at the *previous* position: the model never sees b_i or e_i. Nothing of a step's
result is fed to the next, so in training all steps are one call of the LSTM.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from alidade.models.layers import Dropout, Memory, Output, pick_states
from alidade.models.recurrent import LstmStack, RecurrentEncoder, WordEmbedding, pick_rows
from alidade.models.transformer import real_tokens
from alidade.models.transformer_jumps import jumps_to_positions
from alidade.text.batching import Batch


class RnnJumps(nn.Module):
    """p(b_i | b_<i, e_<i, f) through the jump b_i - b_{i-1}."""

    def __init__(
        self,
        *,
        embedding: int,
        width: int,
        unidirectional_encoder_layers: int | None,
        decoder_layers: int,
        dropout: float,
        source_vocabulary: int,
        target_vocabulary: int,
        tied_embeddings: Literal["all", "none"],
        max_jump: int,
    ) -> None:
        """unidirectional_encoder_layers: None if the model reads the lexical model's encoder."""
        super().__init__()
        self.encoder = None
        self.embedding = WordEmbedding(target_vocabulary, embedding, dropout)
        if unidirectional_encoder_layers is not None:
            source_words = WordEmbedding(source_vocabulary, embedding, dropout)
            self.encoder = RecurrentEncoder(source_words, width, unidirectional_encoder_layers, dropout)
            if tied_embeddings == "all":
                self.embedding.weight = source_words.weight
        self.decoder = LstmStack(embedding + width, width, decoder_layers, dropout)
        self.dropout = Dropout(dropout)
        self.output = Output(width, 2 * max_jump + 1)
        self.max_jump = max_jump

    def forward(self, batch: Batch, memory: Memory | None = None) -> Tensor:
        """Features (N, D) of the batch's real target tokens."""
        memory = self.encode(batch.source) if memory is None else memory
        inputs = self.read(batch.target_in, pick_states(memory.states, batch.previous_positions))
        features: Tensor = self.decoder(inputs.transpose(0, 1)).transpose(0, 1)  # (B, T, D)
        dropped: Tensor = self.dropout(real_tokens(features, batch))
        return dropped

    def read(self, words: Tensor, previous_states: Tensor) -> Tensor:
        """[e_{i-1}; h_{b_{i-1}}], what the LSTM reads: words (...), previous_states (..., D)."""
        return torch.cat([self.embedding(words), self.dropout(previous_states)], dim=-1)

    def targets(self, batch: Batch) -> Tensor:
        """The jumps as classes 0 .. 2 * max_jump, wider ones clipped: (N,)."""
        jumps = real_tokens(batch.positions - batch.previous_positions, batch)
        return jumps.clamp(-self.max_jump, self.max_jump) + self.max_jump

    def encode(self, source: Tensor) -> Memory:
        assert self.encoder is not None, "this model reads the lexical model's encoder"
        memory: Memory = self.encoder(source)
        return memory

    def start(self, memory: Memory, beam_size: int = 1) -> RnnJumpsState:
        return RnnJumpsState(self, memory, beam_size)


class RnnJumpsState:
    """The alignment model's memory of a beam: the alignment state of `search/roles.py`."""

    def __init__(self, model: RnnJumps, memory: Memory, beam_size: int) -> None:
        self._model = model
        self._beam_size = beam_size
        self._source = memory.states
        self._lengths = memory.lengths
        self._states = model.decoder.start(len(memory.states) * beam_size)

    def position_logp(self, words: Tensor, previous_positions: Tensor) -> Tensor:
        inputs = self._model.read(words, pick_states(self._source, previous_positions)).flatten(0, 1)
        features, self._states = self._model.decoder.step(inputs, self._states)  # (B * K, D)
        jump_logits = self._model.output(features).view(*words.shape, -1)
        return jumps_to_positions(jump_logits, previous_positions, self._lengths, self._source.shape[1])

    def commit(self, parents: Tensor) -> None:
        first = torch.arange(len(parents), device=parents.device)[:, None] * self._beam_size
        self._states = pick_rows(self._states, (first + parents).flatten())
        self._beam_size = parents.shape[1]

    def keep(self, sentences: Tensor) -> None:
        self._source, self._lengths = self._source[sentences], self._lengths[sentences]
        hypotheses = sentences[:, None] * self._beam_size + torch.arange(self._beam_size, device=sentences.device)
        self._states = pick_rows(self._states, hypotheses.flatten())
