"""`rnn`: the recurrent baseline with additive attention (row 1 of the paper's table 2).

A step of the decoder:

    s_i = LSTM([e_{i-1}; a_{i-1}])              stacked layers with input feeding
    energy_ij = v . tanh(W s_i + U h_j)         additive attention
    c_i = sum_j softmax(energy_i)_j h_j
    a_i = tanh(W_s s_i + W_c c_i)               the attentional state: what the output layer reads

Attention comes after the LSTM. So all that a position changes, in `rnn-biased`, is attention and a_i: in search the
LSTM runs once a hypothesis, the rest once a row. U h_j and W_c h_j depend on the source alone and are computed once
a sentence.

Dimensions: B sentences, K beam, R rows, S source, T target, A attention, D width, N any rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from alidade.models.cache import Rows
from alidade.models.layers import Dropout, Memory, Output, pick_states
from alidade.models.linear import Linear
from alidade.models.recurrent import LayerStates, LstmLayer, RecurrentEncoder, WordEmbedding, lstm_layers, pick_rows
from alidade.models.transformer import Tying, real_tokens
from alidade.text.batching import Batch


@dataclass(frozen=True, slots=True)
class AttendedSource:
    """B source sentences as attention reads them."""

    keys: Tensor
    """(B, S, A) U h_j"""
    values: Tensor
    """(B, S, D) W_c h_j"""
    mask: Tensor | None
    """(B, 1, S), added to energies: 0 at words, -inf at padding; None if nothing is padding."""

    def keep(self, sentences: Tensor) -> AttendedSource:
        mask = None if self.mask is None else self.mask[sentences]
        return AttendedSource(self.keys[sentences], self.values[sentences], mask)


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


class AttentiveState:
    """The decoder's memory of a beam: the lexical state of `search/roles.py`."""

    def __init__(self, decoder: AttentiveDecoder, memory: Memory, beam_size: int, *, records_attention: bool) -> None:
        self._decoder = decoder
        self._beam_size = beam_size
        self._records_attention = records_attention
        self._source = decoder.attend(memory)
        fed, states = decoder.start(memory)
        sentences = torch.arange(len(fed), device=fed.device).repeat_interleave(beam_size)
        self._fed = fed[sentences]  # (B * K, D)
        self._states = pick_rows(states, sentences)
        self._evaluated: list[Tensor] = []
        self._row_attention: Tensor | None = None

    def advance(self, words: Tensor) -> None:
        """The LSTM and the energies without a bias, once a hypothesis."""
        decoder = self._decoder
        gates_of_words = decoder.word_gates(decoder.embedding(words.flatten()))
        output, self._states = decoder.advance(gates_of_words, self._fed, self._states)  # (B * K, D)
        self._query: Tensor = decoder.query(output)
        self._energies = decoder.energies(self._query.view(*words.shape, -1), self._source).flatten(0, 1)  # (B * K, S)
        self._output = decoder.state(output)

    def evaluate(self, hypotheses: Tensor, positions: Tensor) -> Tensor:
        """Attention and a_i, once a row: (R,), (R,) -> (R, D)."""
        keys, values = self._source.keys, self._source.values
        rows = Rows(hypotheses, len(keys), self._beam_size)
        energies = self._energies[hypotheses]  # (R, S)
        if self._decoder.bias is not None:
            aligned_keys = keys[rows.sentences, positions]
            energies = self._decoder.prefer(energies, self._query[hypotheses], aligned_keys, positions)
        weights = torch.softmax(energies, dim=-1)
        context = rows.from_grid(torch.bmm(rows.to_grid(weights), values))
        features = torch.tanh(self._output[hypotheses] + context)
        self._evaluated.append(features)
        if self._records_attention:
            self._row_attention = weights
            if self._decoder.bias is not None:
                self._row_attention[torch.arange(len(positions)), positions] += 1.0
        return features

    def attention(self) -> Tensor:
        assert self._row_attention is not None, "the state was started without records_attention"
        return self._row_attention

    def commit(self, rows: Tensor, parents: Tensor) -> None:
        first = torch.arange(len(parents), device=parents.device)[:, None] * self._beam_size
        self._states = pick_rows(self._states, (first + parents).flatten())
        self._fed = torch.cat(self._evaluated)[rows.flatten()]
        self._evaluated.clear()
        self._beam_size = parents.shape[1]

    def keep(self, sentences: Tensor) -> None:
        hypotheses = (sentences[:, None] * self._beam_size + torch.arange(self._beam_size)).flatten()
        self._states = pick_rows(self._states, hypotheses)
        self._fed = self._fed[hypotheses]
        self._source = self._source.keep(sentences)


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

    def start(self, memory: Memory, beam_size: int = 1, *, records_attention: bool = False) -> AttentiveState:
        return AttentiveState(self.decoder, memory, beam_size, records_attention=records_attention)


def tie_embeddings(source: WordEmbedding, target: WordEmbedding, output: Output, tying: Tying) -> None:
    """Let source, target and output embeddings share one matrix, or the target's two, or none."""
    if tying == "all":
        target.weight = source.weight
    if tying != "none":
        output.tie(target)
