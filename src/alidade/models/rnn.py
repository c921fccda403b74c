"""What the three recurrent models share: word embeddings, the LSTM encoder, stacks of LSTM layers (paper, section 6).

LSTMs read time first, (T, B, D): their steps are then slices that lie together.

Dimensions: B sentences, S source, T target, E embedding, D width, N any rows.


`rnn`: the recurrent baseline with additive attention (row 1 of the paper's table 2).

A step of the decoder:

    s_i = LSTM([e_{i-1}; a_{i-1}])              stacked layers with input feeding
    energy_ij = v . tanh(W s_i + U h_j)         additive attention
    c_i = sum_j softmax(energy_i)_j h_j
    a_i = tanh(W_s s_i + W_c c_i)               the attentional state: what the output layer reads

Attention comes after the LSTM. So all that a position changes, in `rnn-biased`, is attention and a_i: in search the
LSTM runs once a hypothesis, the rest once a row. U h_j and W_c h_j depend on the source alone and are computed once
a sentence.

Dimensions: B sentences, K beam, R rows, S source, T target, A attention, D width, N any rows.


`rnn-biased`: the recurrent lexical model with alignment-biased attention (rows 3 and 4 of the paper's table 2).

The baseline's attention, with a learned vector w switched on at the aligned position, inside the tanh:

    energy_ij = v . tanh(W s_i + U h_j + [j = b_i] w)

Only the energy at j = b_i differs from the baseline's, so all others are computed once a hypothesis and shared by
the positions hypothesised for it. w starts at zero: the second stage of training starts exactly at the baseline.


`rnn-jumps`: the recurrent alignment model (paper, section 6).

    r_i = LSTM([e_{i-1}; h_{b_{i-1}}])                          stacked layers
    p(b_i - b_{i-1} | b_<i, e_<i, f) = softmax(W r_i)           jumps of -max_jump .. max_jump

h_{b_{i-1}} is the encoder's state at the *previous* position: the model never sees b_i or e_i. Nothing of a step's
result is fed to the next, so in training all steps are one call of the LSTM.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor, nn

from alidade.models.batch import Batch
from alidade.models.layers import Dropout, Linear, Memory, Output, padding_mask, pick_states
from alidade.models.transformer import Tying, real_tokens
from alidade.text.vocabulary import PAD

LayerStates = tuple[tuple[Tensor, Tensor], ...]
"""Output h and cell c, (N, D) each, of every layer of a stack."""


class WordEmbedding(nn.Embedding):
    """Word embeddings, scaled by the square root of their size."""

    def __init__(self, vocabulary_size: int, size: int, dropout: float) -> None:
        super().__init__(vocabulary_size, size)
        nn.init.normal_(self.weight, std=size**-0.5)
        self.scale = math.sqrt(size)
        self.dropout = Dropout(dropout)

    def forward(self, words: Tensor) -> Tensor:
        """words: any shape -> (..., E)."""
        embedded: Tensor = self.dropout(super().forward(words) * self.scale)
        return embedded


class RecurrentEncoder(nn.Module):
    """A bidirectional LSTM layer, then unidirectional ones on top."""

    def __init__(self, embedding: WordEmbedding, width: int, unidirectional_layers: int, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.rightwards = LstmLayer(embedding.embedding_dim, width // 2)
        self.leftwards = LstmLayer(embedding.embedding_dim, width // 2)
        self.unidirectional = LstmStack(width, width, unidirectional_layers, dropout)

    def forward(self, source: Tensor) -> Memory:
        """source: (B, S) with `<s>` and `</s>`, then `<pad>`. The memory's states are zero at padding."""
        is_padding = source == PAD
        reversal = reversed_places(is_padding).t()[..., None]  # (S, B, 1)
        words = self.embedding(source.t())  # (S, B, E)
        rightwards = self.rightwards(words)  # (S, B, D / 2)
        leftwards = self.leftwards(words.take_along_dim(reversal, 0)).take_along_dim(reversal, 0)
        states = self.unidirectional(torch.cat([rightwards, leftwards], dim=-1))
        states = states.transpose(0, 1).masked_fill(is_padding[..., None], 0.0)  # (B, S, D)
        return Memory(states, padding_mask(is_padding), lengths=source.shape[1] - is_padding.sum(dim=1))


def reversed_places(is_padding: Tensor) -> Tensor:
    """Places, (B, S), that turn each sentence round and leave its padding at the end: no LSTM reads padding first.

    Packed sequences would do the same, but their gradient zeroes the whole sequence once a step.
    """
    places = torch.arange(is_padding.shape[1], device=is_padding.device)
    last = (~is_padding).sum(dim=1, keepdim=True) - 1
    return torch.where(is_padding, places, last - places)


class LstmStack(nn.Module):
    """LSTM layers on top of each other, with a residual connection around each that keeps the size."""

    def __init__(self, inputs: int, width: int, num_layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(LstmLayer(width if below else inputs, width) for below in range(num_layers))
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Whole sequences: (T, B, inputs) -> (T, B, D)."""
        for number, layer in enumerate(self.layers):
            y = layer(self.dropout(x) if number else x)
            x = x + y if x.shape == y.shape else y
        return x


class LstmLayer(nn.Module):
    """One LSTM layer: whole sequences through torch's kernel, single steps as one matrix product over [x; h].

    Search asks for single steps, of few rows; the kernel lays its weights out anew in each call, and is slow there.
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.width = width
        self.gates = Linear(inputs + width, 4 * width)
        nn.init.uniform_(self.gates.weight, -(width**-0.5), width**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Whole sequences: (T, B, inputs) -> h, (T, B, D)."""
        of_inputs, of_h = self.gates.weight.split_with_sizes([self.inputs, self.width], dim=1)
        no_bias = torch.zeros_like(self.gates.bias)  # the kernel adds two
        weights = [of_inputs, of_h, self.gates.bias, no_bias]
        zero = x.new_zeros(1, x.shape[1], self.width)
        h, _, _ = torch.lstm(x, [zero, zero], weights, True, 1, 0.0, self.training, False, False)
        return h

    def step(self, x: Tensor, state: tuple[Tensor, Tensor], more: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """One step, (N, inputs) -> h and c, (N, D) each. `more`, (N, 4D), is added to the gates."""
        h, c = state
        gates = self.gates(torch.cat([x, h], dim=-1))
        input_gate, forget_gate, candidate, output_gate = (gates if more is None else gates + more).chunk(4, dim=-1)
        c = torch.addcmul(forget_gate.sigmoid() * c, input_gate.sigmoid(), candidate.tanh())
        return output_gate.sigmoid() * c.tanh(), c


def lstm_layers(layers: nn.ModuleList) -> list[LstmLayer]:
    """The same layers, with their type."""
    return cast("list[LstmLayer]", list(layers))


@dataclass(frozen=True, slots=True)
class AttendedSource:
    """B source sentences as attention reads them."""

    keys: Tensor
    """(B, S, A) U h_j"""
    values: Tensor
    """(B, S, D) W_c h_j"""
    mask: Tensor | None
    """(B, 1, S), added to energies: 0 at words, -inf at padding; None if nothing is padding."""


class AttentiveDecoder(nn.Module):
    """LSTM layers with input feeding and additive attention; `bias` is for `rnn-biased`."""

    def __init__(
        self,
        embedding: WordEmbedding,
        width: int,
        attention: int,
        num_layers: int,
        dropout: float,
        bias: nn.Module | None = None,
    ) -> None:
        """bias: from W s + U h_{b_i}, (N, A), to what the aligned position gains inside the energy's dot product."""
        super().__init__()
        self.embedding = embedding
        self.initial = Linear(width, 2 * num_layers * width)
        self.word_gates = Linear(embedding.embedding_dim, 4 * width, bias=False)
        self.layers = nn.ModuleList(LstmLayer(width, width) for _ in range(num_layers))
        self.query = Linear(width, attention, bias=False)  # W
        self.key = Linear(width, attention)  # U
        self.energy = nn.Parameter(torch.empty(attention).uniform_(-(attention**-0.5), attention**-0.5))  # v
        self.state = Linear(width, width)  # W_s
        self.context = Linear(width, width, bias=False)  # W_c
        self.dropout = Dropout(dropout)
        self.bias = bias

    def forward(
        self, words: Tensor, memory: Memory, positions: Tensor | None = None, weights: list[Tensor] | None = None
    ) -> Tensor:
        """All steps of known targets: words e_{i-1} and positions b_i, (B, T), -> a_i, (B, T, D).

        `positions` are for decoders with a bias. If `weights` is a list, attention (B, T, S) is appended to it.
        """
        source = self.attend(memory)
        fed, states = self.start(memory)
        gates_of_words = self.word_gates(self.embedding(words.t()))  # (T, B, 4D)
        aligned_keys = None if positions is None else pick_states(source.keys, positions)  # (B, T, A)
        attentional_states, attention = [], []
        for step, gates in enumerate(gates_of_words.unbind()):
            output, states = self.advance(gates, fed, states)
            query = self.query(output)
            energies = self.energies(query[:, None], source)[:, 0]  # (B, S)
            if positions is not None and aligned_keys is not None:
                energies = self.prefer(energies, query, aligned_keys[:, step], positions[:, step])
            step_weights = torch.softmax(energies, dim=-1)[:, None]  # (B, 1, S)
            fed = torch.tanh(self.state(output) + torch.bmm(step_weights, source.values)[:, 0])
            attentional_states.append(fed)
            attention.append(step_weights)
        if weights is not None:
            weights.append(torch.cat(attention, dim=1))
        return torch.stack(attentional_states, dim=1)

    def attend(self, memory: Memory) -> AttendedSource:
        """What attention reads, once a sentence."""
        mask = None if memory.mask is None else memory.mask[:, 0]
        return AttendedSource(self.key(memory.states), self.context(memory.states), mask)

    def start(self, memory: Memory) -> tuple[Tensor, LayerStates]:
        """a_0, zero, and the layers' states before the first step, from the mean of the encoder's states."""
        mean = memory.states.sum(dim=1) / memory.lengths[:, None]
        states = self.initial(mean).tanh().chunk(2 * len(self.layers), dim=-1)
        return torch.zeros_like(mean), tuple(zip(states[::2], states[1::2], strict=True))

    def advance(self, gates_of_words: Tensor, fed: Tensor, states: LayerStates) -> tuple[Tensor, LayerStates]:
        """s_i, (N, D), and the layers' new states, from e_{i-1} as gates (N, 4D) and a_{i-1} (N, D)."""
        bottom, *upper = lstm_layers(self.layers)
        output, cell = bottom.step(fed, states[0], gates_of_words)
        new_states = [(output, cell)]
        for layer, state in zip(upper, states[1:], strict=True):
            h, c = layer.step(self.dropout(output), state)
            new_states.append((h, c))
            output = output + h
        return output, tuple(new_states)

    def energies(self, query: Tensor, source: AttendedSource) -> Tensor:
        """v . tanh(W s + U h_j) for queries W s, (B, K, A): (B, K, S)."""
        energies = torch.tanh(query[:, :, None] + source.keys[:, None]) @ self.energy
        return energies if source.mask is None else energies + source.mask

    def prefer(self, energies: Tensor, query: Tensor, aligned_keys: Tensor, positions: Tensor) -> Tensor:
        """Energies (N, S) with the bias at b_i: query, aligned_keys (N, A), positions (N,)."""
        assert self.bias is not None
        gain = self.bias(query + aligned_keys) @ self.energy
        return energies.scatter_add(1, positions[:, None], gain[:, None].to(energies.dtype))  # bfloat16 has both


class Rnn(nn.Module):
    """p(e_i | e_<i, f)."""

    is_assisted = False

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
        self.encoder = RecurrentEncoder(source_words, width, unidirectional_encoder_layers, dropout)
        self.decoder = AttentiveDecoder(target_words, width, attention, decoder_layers, dropout)
        self.dropout = Dropout(dropout)
        self.output = Output(width, target_vocabulary)
        tie_embeddings(source_words, target_words, self.output, tied_embeddings)

    def forward(self, batch: Batch, memory: Memory | None = None) -> Tensor:
        """Features (N, D) of the batch's real target tokens."""
        memory = self.encode(batch.source) if memory is None else memory
        features: Tensor = self.dropout(real_tokens(self.decoder(batch.target_in, memory), batch))
        return features

    def targets(self, batch: Batch) -> Tensor:
        """e_1 .. e_I, `</s>` of all sentences: (N,)."""
        return real_tokens(batch.target_out, batch)

    def attention(self, batch: Batch) -> Tensor:
        """Attention, (B, T, S): what j(i) is the maximum of (paper, section 5)."""
        weights: list[Tensor] = []
        self.decoder(batch.target_in, self.encode(batch.source), weights=weights)
        return weights[0]

    def encode(self, source: Tensor) -> Memory:
        memory: Memory = self.encoder(source)
        return memory


def tie_embeddings(source: WordEmbedding, target: WordEmbedding, output: Output, tying: Tying) -> None:
    """Let source, target and output embeddings share one matrix, or the target's two, or none."""
    if tying == "all":
        target.weight = source.weight
    if tying != "none":
        output.tie(target)


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
        self.skip_cost = nn.Parameter(torch.zeros(source_vocabulary), requires_grad=False)
        """Counted, not trained (`corpus/skips.py`); the search reads it (`search/coverage.py`)."""

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
