"""What the self-attentive models' graphs are made of: embeddings, layers, caches, the source's memory.

The same equations as in `models/`, from the same weights; tests hold the two together.

Dimensions: B sentences, K beam, T queries of a sentence, S source, n slots, D width, H heads, d = D / H.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alidade.config import (
    Activation,
    PositionRates,
    SourceStart,
)
from alidade.engine.cache import MASKED, Ancestors, Cache, Workspace
from alidade.engine.graph import LARGEST_NORMED, Array, Floats, Graph, Session, Value
from alidade.engine.weights import Weights
from alidade.search.hypotheses import pick
from alidade.search.roles import Ints
from alidade.text.vocabulary import PAD

GELU_SLOPE = 1.702
"""x sigmoid(1.702 x) is what Marian calls gelu."""
LARGEST_HIDDEN = 6.0
"""Hidden units beyond this, six times what is usual of what reads a norm, are cut in eight bits."""
GROUP_CELLS = 256
"""Source pieces, padding among them, that an encoder reads at once: as many as its layers can keep in the processor's
cache."""


def position_encodings(length: int, width: int, rates_of: PositionRates = "original") -> Floats:
    """Sinusoids, (length, width): first the sines, then the cosines."""
    last = width if rates_of == "original" else width - 2
    rates = np.exp(np.arange(0, width, 2) * (-math.log(10_000.0) / last))
    angles = np.arange(length)[:, None] * rates
    encodings: Floats = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)[:, :width].astype(np.float32)
    return encodings


class Embedding:
    """Piece embeddings, scaled, plus position encodings."""

    def __init__(self, weight: Floats, position_rates: PositionRates = "original") -> None:
        self._table = weight * np.float32(math.sqrt(weight.shape[1]))
        self._rates: PositionRates = position_rates
        self._encodings = position_encodings(256, weight.shape[1], position_rates)

    def sequences(self, pieces: Ints, *, skips_first: bool = False) -> Floats:
        """(B, S) -> (B, S, D), at the positions 0, 1, ...; skips_first: at 0, 0, 1, ..."""
        encodings = self._until(pieces.shape[1])[: pieces.shape[1]]
        if skips_first:
            encodings = np.concatenate([encodings[:1], encodings[:-1]])
        embedded: Floats = self._table[pieces] + encodings
        return embedded

    def step(self, pieces: Ints, position: int) -> Floats:
        """(B, K) -> (B, K, D), all at one position."""
        embedded: Floats = self._table.take(pieces, axis=0)
        embedded += self._until(position + 1)[position]
        return embedded

    def _until(self, length: int) -> Floats:
        if length > len(self._encodings):
            self._encodings = position_encodings(2 * length, self._encodings.shape[1], self._rates)
        return self._encodings


@dataclass(frozen=True, slots=True)
class Shape:
    """What all layers of a model share."""

    width: int
    heads: int
    pre_norm: bool
    activation: Activation = "relu"
    norm_epsilon: float = 1e-5

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    def by_heads(self, places: str) -> list[str | int]:
        """Dimensions of keys or values at so many places of each sentence."""
        return ["B", self.heads, places, self.head_width]


class Layers:
    """Writes the layers of a transformer into a graph."""

    def __init__(self, graph: Graph, shape: Shape, *, is_step: bool = False) -> None:
        """is_step: of a decoder, where few rows go through and what a layer takes besides its product counts."""
        self.graph, self.shape, self._is_step = graph, shape, is_step

    def linear(self, x: Value, weights: Weights, *, is_negative: bool = True) -> Value:
        return self.graph.linear(x, weights["weight"], weights.optional("bias"), is_negative=is_negative)

    def norm(self, x: Value, weights: Weights) -> Value:
        return self.graph.norm(x, weights["weight"], weights["bias"], self.shape.norm_epsilon)

    def pre_linear(self, x: Value, residual: Weights, weight: Floats, bias: Floats) -> Value:
        """A sublayer's first linear layer, with the norm before it if that is where norms are.

        Encoders have larger outliers than decoders, which a constant scale would cut (experiments/LOG.md).
        """
        if not self.shape.pre_norm:
            return self.graph.linear(x, weight, bias)
        norm = residual.at("norm")
        if not self._is_step:
            return self.graph.linear(self.norm(x, norm), weight, bias)
        return self.graph.norm_linear(x, norm["weight"], norm["bias"], self.shape.norm_epsilon, weight, bias)

    def queries(self, x: Value, residual: Weights, weights: Weights, *, shrinks_values: bool = False) -> Value:
        """Queries, and whatever stands beside them, from what a sublayer reads; attention's scale is theirs already.

        shrinks_values: beside them stand keys and values, which are self-attention's: divide the values by the sizes
        that `attended` multiplies with again.
        """
        weight, bias, width = weights["weight"].copy(), weights["bias"].copy(), self.shape.width
        scale = np.float32(self.shape.head_width**-0.5)
        weight[:width] *= scale
        bias[:width] *= scale
        if shrinks_values:
            self._shrink_values(residual.at("norm"), weight, bias)
        return self.pre_linear(x, residual, weight, bias)

    def source_values(self, states: Value, norm: Weights, weights: Weights) -> Value:
        """Keys and values side by side of what the encoder's last norm has given."""
        weight, bias = weights["weight"].copy(), weights["bias"].copy()
        self._shrink_values(norm, weight, bias)
        return self.graph.linear(states, weight, bias)

    def attended(self, context: Value, norm: Weights, values: Weights, output: Weights) -> Value:
        """Attention's output layer in a step; norm, values: by what the values that it found were made.

        They are about as large as their weights tell, since they read what a norm gives. So no row need be searched for
        its largest number in eight bits: values are divided by what they hardly exceed, and the output's weights
        multiplied with it.
        """
        if not self._are_sizes_known:
            return self.linear(context, output)
        sizes = self._value_sizes(norm, values["weight"], values["bias"])
        return self.graph.bounded_linear(context, output["weight"] * sizes, output["bias"])

    def self_attended(self, context: Value, layer: Weights) -> Value:
        """Self-attention's output layer in a step."""
        attention = layer.at("self_attention")
        return self.attended(context, layer.at("self_residual.norm"), attention.at("inputs"), attention.at("output"))

    @property
    def _are_sizes_known(self) -> bool:
        """Whether what reads a norm is to be rounded by the size that its weights tell."""
        return self.graph.precision == "int8" and self.shape.pre_norm

    def _shrink_values(self, norm: Weights, weight: Floats, bias: Floats) -> None:
        """Divide values, the last of what weight and bias give, by what they hardly exceed."""
        if self._are_sizes_known:
            sizes = self._value_sizes(norm, weight, bias)
            weight[-len(sizes) :] /= sizes[:, None]
            bias[-len(sizes) :] /= sizes

    def _value_sizes(self, norm: Weights, weight: Floats, bias: Floats) -> Floats:
        """(D,)"""
        width = self.shape.width
        usual, mean = usual_units(norm, weight[-width:], bias[-width:])
        largest = min(LARGEST_NORMED, width**0.5)
        sizes: Floats = np.maximum(largest * usual + np.abs(mean), np.float32(1e-20))
        return sizes

    def post(self, x: Value, y: Value, residual: Weights) -> Value:
        """What the next sublayer gets."""
        total = Value(self.graph.Add(x, y))
        return total if self.shape.pre_norm else self.norm(total, residual.at("norm"))

    def final_norm(self, x: Value, weights: Weights) -> Value:
        """Pre-norm stacks end with a norm; post-norm ones have it already."""
        return self.norm(x, weights.at("norm")) if self.shape.pre_norm else x

    def feed(self, x: Value, layer: Weights) -> Value:
        """The feed-forward sublayer."""
        residual, expand = layer.at("feed_forward_residual"), layer.at("feed_forward.expand")
        contract, is_rectified = layer.at("feed_forward.contract"), self.shape.activation == "relu"
        if self._are_sizes_known and is_rectified:
            usual, mean = usual_units(residual.at("norm"), expand["weight"], expand["bias"])
            largest = np.maximum(LARGEST_HIDDEN * usual + np.maximum(mean, 0), np.float32(1e-20))
            hidden = self.pre_linear(x, residual, expand["weight"] / largest[:, None], expand["bias"] / largest)
            contracted = self.graph.relu_linear(hidden, contract["weight"] * largest, contract["bias"])
        else:
            hidden = self._activate(self.pre_linear(x, residual, expand["weight"], expand["bias"]))
            contracted = self.linear(hidden, contract, is_negative=not is_rectified)
        return self.post(x, contracted, residual)

    def _activate(self, x: Value) -> Value:
        graph = self.graph
        if self.shape.activation == "relu":
            return Value(graph.Relu(x))
        gate = x if self.shape.activation == "swish" else graph.Mul(x, graph.constant(GELU_SLOPE))
        return Value(graph.Mul(x, graph.Sigmoid(gate)))

    def split_heads(self, x: Value) -> Value:
        """(B, T, D) -> (B, H, T, d)"""
        return Value(self.graph.Transpose(self.graph.reshape(x, 0, 0, self.shape.heads, -1), perm=[0, 2, 1, 3]))

    def split_inputs(self, inputs: Value) -> list[Value]:
        """Queries, keys and values from what stands side by side: (B, T, 3 * D) -> three times (B, H, T, d)."""
        graph = self.graph
        by_heads = graph.Transpose(graph.reshape(inputs, 0, 0, 3 * self.shape.heads, -1), perm=[0, 2, 1, 3])
        parts: list[Value] = graph.op("Split", by_heads, num_outputs=3, axis=1)
        return parts

    def join_heads(self, x: Value) -> Value:
        """(B, H, T, d) -> (B, T, D)"""
        return self.graph.reshape(self.graph.Transpose(x, perm=[0, 2, 1, 3]), 0, 0, self.shape.width)

    def multiply_keys(self, queries: Value, keys: Value) -> Value:
        """Energies: (B, H, T, d), (B, H, n, d) -> (B, H, T, n)"""
        return Value(self.graph.FusedMatMul(queries, keys, transB=1))

    def encoder(self, x: Value, mask: Value, weights: Weights, num_layers: int) -> Value:
        """(B, S, D) -> h, (B, S, D)."""
        graph = self.graph
        for number in range(num_layers):
            layer = weights.at(f"layers.{number}")
            inputs = self.queries(x, layer.at("self_residual"), layer.at("self_attention.inputs"))
            queries, keys, values = self.split_inputs(inputs)
            attention = graph.Softmax(graph.Add(self.multiply_keys(queries, keys), mask), axis=-1)
            context = self.linear(self.join_heads(graph.MatMul(attention, values)), layer.at("self_attention.output"))
            x = self.feed(self.post(x, context, layer.at("self_residual")), layer)
        return self.final_norm(x, weights)

    def attend_history(self, inputs: Value, keys: Value, values: Value, mask: Value) -> Value:
        """Attention of a step's queries to the history of their hypotheses and to themselves.

        inputs: queries, keys and values side by side, (B, T, 3 * D); keys, values: of the slots, (B, H, n, d); mask:
        (B, 1, T, n). Returns (B, T, D).
        """
        graph = self.graph
        queries, own_keys, own_values = self.split_inputs(inputs)
        energies = graph.Add(self.multiply_keys(queries, keys), mask)  # (B, H, T, n)
        own = graph.ReduceSum(graph.Mul(queries, own_keys), graph.ints(-1), keepdims=1)  # (B, H, T, 1)
        weights = graph.Softmax(graph.Concat(energies, own, axis=-1), axis=-1)
        history = graph.Slice(weights, graph.ints(0), graph.ints(-1), graph.ints(-1))
        itself = graph.Slice(weights, graph.ints(-1), graph.ints(2**31), graph.ints(-1))
        context = graph.Add(graph.MatMul(history, values), graph.Mul(itself, own_values))
        return self.join_heads(context)

    def attend_source(self, queries: Value, keys: Value, values: Value, mask: Value) -> tuple[Value, Value]:
        """What queries find in the source, (B, T, D) both, and their attention, summed over heads, (B, T, S)."""
        graph = self.graph
        energies = self.multiply_keys(self.split_heads(queries), keys)
        attention = graph.Softmax(graph.Add(energies, mask), axis=-1)  # (B, H, T, S)
        context = self.join_heads(graph.MatMul(attention, values))
        return context, Value(graph.ReduceSum(attention, graph.ints(1), keepdims=0))


def usual_units(norm: Weights, weight: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """How large units that read what a norm gives usually are, and what they are about, (units,) both."""
    usual: Floats = np.sqrt(np.square(weight * norm["weight"]).sum(axis=1))
    return usual, weight @ norm["bias"] + bias


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known of the source sentences of a batch."""

    arrays: dict[str, Array]
    """Inputs of the step's graphs that depend on the source alone; the first dimension is the sentence."""
    lengths: Ints
    """(B,) source pieces with `<s>` and `</s>`."""

    def keep(self, sentences: Ints) -> Memory:
        return Memory({name: array[sentences] for name, array in self.arrays.items()}, self.lengths[sentences])


def source_mask(source: Ints, *, skips_first: bool = False) -> tuple[Floats, Ints]:
    """(B, 1, 1, S), `MASKED` at padding (and at position 0), and the lengths, (B,)."""
    is_padding = source == PAD
    lengths = source.shape[1] - is_padding.sum(axis=1)
    if skips_first:
        is_padding[:, 0] = True
    return np.where(is_padding, np.float32(MASKED), np.float32(0))[:, None, None], lengths


def encode_groups(encode: Session, x: Floats, mask: Floats, lengths: Ints, names: list[str]) -> list[Floats]:
    """What an encoder's graph gives, by name, each (B, ..., S, width), from x, (B, S, D), and mask, (B, 1, 1, S).

    Sentences of about equal length are read together, or a batch with one long sentence would be mostly padding. What
    is given at padding is zero, or whatever the graph gives.
    """
    groups = group_by_length(lengths)
    if len(groups) == 1:
        return encode({"x": x, "mask": mask}, names)
    whole: list[Floats] = []
    for group in groups:
        longest = lengths[group[0]]
        found = encode({"x": x[group, :longest], "mask": mask[group, :, :, :longest]}, names)
        if not whole:
            whole = [np.zeros((len(x), *one.shape[1:-2], x.shape[1], one.shape[-1]), one.dtype) for one in found]
        for all_, some in zip(whole, found, strict=True):
            all_[group, ..., :longest, :] = some
    return whole


def group_by_length(lengths: Ints) -> list[Ints]:
    """The numbers of sentences, (B,), in groups of at most `GROUP_CELLS` places, the longest first."""
    order = np.argsort(-lengths, kind="stable")
    groups = []
    while len(order):
        size = max(GROUP_CELLS // int(lengths[order[0]]), 1)
        groups.append(order[:size])
        order = order[size:]
    return groups


def with_start(source: Ints, start: SourceStart) -> Ints:
    """What the encoder reads: (B, S) with another piece in the place of `<s>`, if it has one."""
    if not isinstance(start, int):
        return source
    changed = source.copy()
    changed[:, 0] = start
    return changed


class History:
    """The cache of a decoder, and the mask that its layers share."""

    def __init__(self, shape: Shape, layers: range, num_sentences: int, workspace: Workspace) -> None:
        """layers: the numbers of those that are remembered."""
        self._ancestors = Ancestors(num_sentences)
        self._cache = Cache(layers, num_sentences, shape.heads, shape.head_width, workspace)

    @property
    def step(self) -> int:
        return self._ancestors.step

    @property
    def mask(self) -> Floats:
        """(B, K, n)"""
        return self._ancestors.mask

    def of_layer(self, number: int) -> dict[str, Floats]:
        """What a layer's graph reads."""
        return self._cache.of_layer[number]

    def commit(self, parents: Ints, inputs: Floats) -> None:
        """inputs: (B, K, layers * 3 * D), what the layers' self-attention read in the step that made the next beam's
        hypotheses."""
        slots = self._ancestors.reorder(parents)
        self._cache.write(slots, inputs, self.mask.shape[2])

    def keep(self, sentences: Ints) -> None:
        self._ancestors.keep(sentences)
        self._cache.keep(sentences)


def pick_states(states: Floats, positions: Ints) -> Floats:
    """h_{b_i}: states (B, S, D) at positions (B, K) -> (B, K, D)."""
    picked: Floats = pick(states, positions)
    return picked
