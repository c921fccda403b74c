"""The self-attentive models as graphs, and their roles in the search (`search/roles.py`).

Three kinds of graph. *Encode* reads a batch of sentences and gives all that depends on the source alone: for each
decoder layer the keys and values of source attention and, if the layer has an alignment head, W_align h_j of all j.
*Advance* takes one step as far as no position matters, once a hypothesis. *Evaluate* goes on from the lowest alignment
head, once a row, a picked (hypothesis, position) pair, to the row's best pieces; a baseline has one row a hypothesis
and does both in one graph. The alignment model has *encode* and one graph for a step.

The same equations as in `models/`, from the same weights; tests hold the two together.

Dimensions: B sentences, K beam, R rows, G the widest row of their grid, S source, n slots, D width, H heads, d = D / H,
V vocabulary, k best pieces of a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from alidade.config import (
    Activation,
    LayerChoice,
    PositionRates,
    SourceStart,
    TransformerJumpsSettings,
    TransformerSettings,
)
from alidade.engine.cache import MASKED, Ancestors, Cache, Grid, Ints, pick_hypotheses
from alidade.engine.graph import Array, Floats, Graph, Precision, Session, Value
from alidade.engine.output import OutputLayer
from alidade.engine.weights import Weights
from alidade.search.roles import Asked, RowPieces
from alidade.text.vocabulary import PAD

GELU_SLOPE = 1.702
"""x sigmoid(1.702 x) is what Marian calls gelu."""


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
        embedded: Floats = self._table[pieces] + self._until(position + 1)[position]
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

    def __init__(self, graph: Graph, shape: Shape) -> None:
        self.graph, self.shape = graph, shape

    def linear(self, x: Value, weights: Weights) -> Value:
        return self.graph.linear(x, weights["weight"], weights.optional("bias"))

    def norm(self, x: Value, weights: Weights) -> Value:
        return self.graph.norm(x, weights["weight"], weights["bias"], self.shape.norm_epsilon)

    def pre(self, x: Value, residual: Weights) -> Value:
        """What a sublayer reads."""
        return self.norm(x, residual.at("norm")) if self.shape.pre_norm else x

    def queries(self, x: Value, residual: Weights, weights: Weights) -> Value:
        """Queries, and whatever stands beside them, from what a sublayer reads; attention's scale is theirs already."""
        weight, bias = weights["weight"].copy(), weights["bias"].copy()
        scale = np.float32(self.shape.head_width**-0.5)
        weight[: self.shape.width] *= scale
        bias[: self.shape.width] *= scale
        return self.graph.linear(self.pre(x, residual), weight, bias)

    def post(self, x: Value, y: Value, residual: Weights) -> Value:
        """What the next sublayer gets."""
        total = Value(self.graph.Add(x, y))
        return total if self.shape.pre_norm else self.norm(total, residual.at("norm"))

    def final_norm(self, x: Value, weights: Weights) -> Value:
        """Pre-norm stacks end with a norm; post-norm ones have it already."""
        return self.norm(x, weights.at("norm")) if self.shape.pre_norm else x

    def feed(self, x: Value, layer: Weights) -> Value:
        """The feed-forward sublayer."""
        expanded = self.linear(self.pre(x, layer.at("feed_forward_residual")), layer.at("feed_forward.expand"))
        hidden = self._activate(expanded)
        return self.post(x, self.linear(hidden, layer.at("feed_forward.contract")), layer.at("feed_forward_residual"))

    def _activate(self, x: Value) -> Value:
        graph = self.graph
        if self.shape.activation == "relu":
            return Value(graph.Relu(x))
        gate = x if self.shape.activation == "swish" else graph.Mul(x, graph.constant(GELU_SLOPE))
        return Value(graph.Mul(x, graph.Sigmoid(gate)))

    def split_heads(self, x: Value) -> Value:
        """(B, T, D) -> (B, H, T, d)"""
        return Value(self.graph.Transpose(self.graph.reshape(x, 0, 0, self.shape.heads, -1), perm=[0, 2, 1, 3]))

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
            queries, keys, values = [self.split_heads(p) for p in graph.op("Split", inputs, num_outputs=3, axis=-1)]
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
        queries, own_keys, own_values = [
            self.split_heads(part) for part in graph.op("Split", inputs, num_outputs=3, axis=-1)
        ]
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

    def keys_values(self, inputs: Value) -> Value:
        """What a slot remembers, side by side: (..., 3 * D) -> (..., 2 * D)."""
        return Value(
            self.graph.Slice(inputs, self.graph.ints(self.shape.width), self.graph.ints(2**31), self.graph.ints(-1))
        )


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


def with_start(source: Ints, start: SourceStart) -> Ints:
    """What the encoder reads: (B, S) with another piece in the place of `<s>`, if it has one."""
    if not isinstance(start, int):
        return source
    changed = source.copy()
    changed[:, 0] = start
    return changed


class LexicalTransformer:
    """`transformer` and `transformer-aligned` in the lexical role."""

    def __init__(
        self, settings: TransformerSettings, weights: Weights, *, precision: Precision, threads: int, device: str
    ) -> None:
        self.is_assisted = settings.kind == "transformer-aligned"
        self.shape = Shape(
            settings.width, settings.heads, settings.pre_norm, settings.activation, settings.norm_epsilon
        )
        self.num_layers = settings.decoder_layers
        self._settings, self._weights = settings, weights
        self.assisted = layer_numbers(settings.assisted_layers, self.num_layers) if self.is_assisted else []
        self.first_assisted = min(self.assisted, default=self.num_layers)
        self.num_shared = min(self.first_assisted + 1, self.num_layers)
        """Layers that keep one key and value a hypothesis; those above have them for each row."""
        self._precision: Precision = precision
        source = weights["encoder.embedding.weight"]
        target = weights.or_tied("decoder.embedding.weight", source)
        output = weights.or_tied("output.weight", target)
        self.vocabulary_size = len(output)
        self.source_embedding = Embedding(source, settings.position_rates)
        self.embedding = self.source_embedding if target is source else Embedding(target, settings.position_rates)
        self._encode = self._encode_graph().session(threads, device)
        advance, evaluate = self._step_graphs()
        self.advance = advance.session(threads, device)
        self.features = self.advance if evaluate is None else evaluate.session(threads, device)
        norm = None
        if settings.pre_norm:
            norm = (weights["decoder.norm.weight"], weights["decoder.norm.bias"], settings.norm_epsilon)
        self.output = OutputLayer(self.new_graph(), output, weights["output.bias"], norm, threads, device)

    def encode(self, source: Ints) -> Memory:
        start = self._settings.source_start
        skips_first = start == "skipped"
        mask, lengths = source_mask(source, skips_first=skips_first)
        x = self.source_embedding.sequences(with_start(source, start), skips_first=skips_first)
        names = ["states", *self.memory_names()]
        arrays = self._encode({"x": x, "mask": mask}, names)
        return Memory({"source_mask": mask, **dict(zip(names, arrays, strict=True))}, lengths)

    def start(self, memory: Memory) -> LexicalState:
        return LexicalState(self, memory)

    def memory_names(self) -> list[str]:
        """What encoding gives besides the states."""
        names = [f"source_{part}_{layer}" for layer in range(self.num_layers) for part in ("keys", "values")]
        return names + [f"aligned_{layer}" for layer in self.assisted]

    def _encode_graph(self) -> Graph:
        graph, weights = Graph(self._precision), self._weights
        layers = Layers(graph, self.shape)
        x = graph.input("x", np.float32, ["B", "S", self.shape.width])
        mask = graph.input("mask", np.float32, ["B", 1, 1, "S"])
        states = layers.encoder(x, mask, weights.at("encoder"), self._settings.encoder_layers)
        graph.output("states", states)
        for number in range(self.num_layers):
            both = layers.linear(states, weights.at(f"decoder.layers.{number}.source_attention.keys_values"))
            for part, value in zip(("keys", "values"), graph.op("Split", both, num_outputs=2, axis=-1), strict=True):
                graph.output(f"source_{part}_{number}", layers.split_heads(value))
        for head, number in enumerate(self.assisted):
            graph.output(f"aligned_{number}", layers.linear(states, weights.at(f"alignment_heads.{head}")))
        return graph

    def _step_graphs(self) -> tuple[Graph, Graph | None]:
        """What happens once a hypothesis and, in an assisted model, once a row: up to the last norm and output."""
        advance = _Step(self, "K")
        x = advance.graph.input("x", np.float32, ["B", "K", self.shape.width])
        for number in range(self.num_shared):
            x = advance.layer(number, x, is_split=number == self.first_assisted)
        advance.graph.output("x_out", advance.graph.reshape(x, -1, self.shape.width))
        advance.finish()
        if not self.is_assisted:
            return advance.graph, None
        evaluate = _RowStep(self)
        x = evaluate.begin()
        for number in range(self.num_shared, self.num_layers):
            x = evaluate.upper_layer(number, x)
        evaluate.graph.output("x_out", x)
        evaluate.finish()
        return advance.graph, evaluate.graph

    def slot_names(self, shared: bool) -> list[str]:
        """What the caches of the layers file after a step: of those that work once a hypothesis, or once a row."""
        layers = range(self.num_shared) if shared else range(self.num_shared, self.num_layers)
        return [f"keys_values_{number}" for number in layers]

    def layer_weights(self, number: int) -> Weights:
        return self._weights.at(f"decoder.layers.{number}")

    def new_graph(self) -> Graph:
        return Graph(self._precision)


class _Step:
    """A decoder's step in a graph, once a hypothesis."""

    def __init__(self, model: LexicalTransformer, queries: str) -> None:
        """queries: the name of the dimension of queries in a sentence."""
        self.model = model
        self.graph = model.new_graph()
        self.layers = Layers(self.graph, model.shape)
        self._queries = queries
        self._mask: Value | None = None
        self._source_mask: Value | None = None
        self._attention: list[Value] = []

    @property
    def mask(self) -> Value:
        """(B, 1, T, n): declared when the first layer asks for it, since there may be none."""
        if self._mask is None:
            self._mask = self.graph.input("mask", np.float32, ["B", 1, self._queries, "n"])
        return self._mask

    @property
    def source_mask(self) -> Value:
        """(B, 1, 1, S): like `mask`, for there is no layer once a row if only the top layer is assisted."""
        if self._source_mask is None:
            self._source_mask = self.graph.input("source_mask", np.float32, ["B", 1, 1, "S"])
        return self._source_mask

    def inputs(self, number: int, x: Value) -> Value:
        """Queries, keys and values, whose latter two are handed out for the cache."""
        layer = self.model.layer_weights(number)
        inputs = self.layers.queries(x, layer.at("self_residual"), layer.at("self_attention.inputs"))
        self.graph.output(f"keys_values_{number}", self.layers.keys_values(inputs))
        return inputs

    def history(self, number: int, inputs: Value) -> Value:
        """Self-attention's context, in the grid: (B, T, 3 * D) -> (B, T, D)."""
        shape = self.model.shape.by_heads("n")
        keys = self.graph.input(f"keys_{number}", np.float32, shape)
        values = self.graph.input(f"values_{number}", np.float32, shape)
        return self.layers.attend_history(inputs, keys, values, self.mask)

    def self_attention(self, number: int, x: Value, context: Value) -> Value:
        layer = self.model.layer_weights(number)
        return self.layers.post(
            x, self.layers.linear(context, layer.at("self_attention.output")), layer.at("self_residual")
        )

    def source_queries(self, number: int, x: Value) -> Value:
        layer = self.model.layer_weights(number)
        return self.layers.queries(x, layer.at("source_residual"), layer.at("source_attention.query"))

    def source(self, number: int, queries: Value) -> Value:
        """What queries find in the source, in the grid: (B, T, D) -> (B, T, D)."""
        shape = self.model.shape.by_heads("S")
        keys = self.graph.input(f"source_keys_{number}", np.float32, shape)
        values = self.graph.input(f"source_values_{number}", np.float32, shape)
        context, attention = self.layers.attend_source(queries, keys, values, self.source_mask)
        self._attention.append(attention)
        return context

    def source_output(self, number: int, context: Value) -> Value:
        return self.layers.linear(context, self.model.layer_weights(number).at("source_attention.output"))

    def layer(self, number: int, x: Value, *, is_split: bool) -> Value:
        """A whole layer, or one as far as the addition of its alignment head (`is_split`)."""
        layer = self.model.layer_weights(number)
        x = self.self_attention(number, x, self.history(number, self.inputs(number, x)))
        context = self.source_output(number, self.source(number, self.source_queries(number, x)))
        if is_split:  # the norm after the addition, and all that follows, come once a row
            return Value(self.graph.Add(x, context))
        return self.layers.feed(self.layers.post(x, context, layer.at("source_residual")), layer)

    def finish(self) -> None:
        """Hand out the attention, summed over layers and heads: (B, T, S)."""
        if self._attention:
            self.graph.output("attention", self.graph.sum(self._attention))


class _RowStep(_Step):
    """The rest of the step, once a row."""

    def __init__(self, model: LexicalTransformer) -> None:
        super().__init__(model, "G")
        graph, width = self.graph, model.shape.width
        self._hypotheses = graph.input("hypotheses", np.int64, ["R"])
        self._source_cells = graph.input("source_cells", np.int64, ["R"])
        self._x = graph.input("x", np.float32, ["N", width])
        self._has_rows = model.num_shared < model.num_layers
        if self._has_rows:
            self._rows = graph.input("rows", np.int64, ["B", "G"])
            self._cells = graph.input("cells", np.int64, ["R"])

    def begin(self) -> Value:
        """The lowest head's addition and the rest of its layer: (R, D)."""
        number = self.model.first_assisted
        layer = self.model.layer_weights(number)
        x = self.graph.Gather(self._x, self._hypotheses)
        x = self.layers.post(x, self._aligned(number), layer.at("source_residual"))
        return self.layers.feed(x, layer)

    def _aligned(self, number: int) -> Value:
        """W_align h_b of each row."""
        width = self.model.shape.width
        table = self.graph.input(f"aligned_{number}", np.float32, ["B", "S", width])
        return Value(self.graph.Gather(self.graph.reshape(table, -1, width), self._source_cells))

    def upper_layer(self, number: int, x: Value) -> Value:
        """A layer above the lowest head: (R, D) -> (R, D)."""
        layer = self.model.layer_weights(number)
        inputs = self.inputs(number, x)
        x = self.self_attention(number, x, self._from_grid(self.history(number, self._to_grid(inputs))))
        queries = self._to_grid(self.source_queries(number, x))
        context = self.source_output(number, self._from_grid(self.source(number, queries)))
        if number in self.model.assisted:
            context = self.graph.Add(context, self._aligned(number))
        return self.layers.feed(self.layers.post(x, context, layer.at("source_residual")), layer)

    def _to_grid(self, x: Value) -> Value:
        """(R, X) -> (B, G, X)"""
        return Value(self.graph.Gather(x, self._rows))

    def _from_grid(self, x: Value) -> Value:
        """(B, G, X) -> (R, X)"""
        return Value(self.graph.Gather(self.graph.reshape(x, -1, self.model.shape.width), self._cells))


class LexicalState:
    """The decoder's memory of a beam."""

    def __init__(self, model: LexicalTransformer, memory: Memory) -> None:
        self._model, self._memory = model, memory
        self._history = _History(model.shape, model.num_layers, len(memory.lengths))
        self._rows: list[list[Floats]] = [[] for _ in range(model.num_layers)]
        """Keys and values of this step, for each layer and each round of rows."""

    def advance(self, pieces: Ints) -> None:
        """Take in e_{i-1}, (B, K). An assisted model computes what no position changes; a baseline waits."""
        model = self._model
        self._num_hypotheses = pieces.shape[1]
        self._embedded = model.embedding.step(pieces, self._history.step)
        for rounds in self._rows:
            rounds.clear()
        if model.is_assisted:
            inputs = self._inputs(range(model.num_shared), self._history.mask) | {"x": self._embedded}
            self._x, attention, *keys_values = model.advance(inputs, ["x_out", "attention", *model.slot_names(True)])
            self._hypothesis_attention = attention.reshape(-1, attention.shape[2])
            self._remember(0, keys_values)

    def evaluate(self, hypotheses: Ints, positions: Ints, num_best: int, asked: Asked) -> RowPieces:
        if self._model.is_assisted:
            return self._evaluate_rows(hypotheses, positions, num_best, asked)
        model = self._model
        inputs = self._inputs(range(model.num_layers), self._history.mask) | {"x": self._embedded}
        x, attention, *keys_values = model.features(inputs, ["x_out", "attention", *model.slot_names(True)])
        self._remember(0, keys_values)
        self._attention = attention.reshape(-1, attention.shape[2])
        return model.output(x, num_best, asked)

    def _evaluate_rows(self, hypotheses: Ints, positions: Ints, num_best: int, asked: Asked) -> RowPieces:
        model, arrays = self._model, self._memory.arrays
        sentences = hypotheses // self._num_hypotheses
        source_length = arrays["source_mask"].shape[3]
        inputs: dict[str, Array] = {
            "x": self._x,
            "hypotheses": hypotheses,
            "source_cells": sentences * source_length + positions,
            **{f"aligned_{number}": arrays[f"aligned_{number}"] for number in model.assisted},
        }
        attention = self._hypothesis_attention[hypotheses]
        names: list[str] = []
        if row_layers := range(model.num_shared, model.num_layers):
            grid = Grid(sentences, len(self._memory.lengths))
            mask = self._history.mask.reshape(-1, self._history.mask.shape[2])[hypotheses[grid.rows]]
            inputs |= self._inputs(row_layers, mask) | {"rows": grid.rows, "cells": grid.cells}
            names = ["attention", *model.slot_names(False)]
        x, *others = model.features(inputs, ["x_out", *names])
        if row_layers:
            attention = attention + others[0].reshape(-1, source_length)[grid.cells]
            self._remember(model.num_shared, others[1:])
        attention[np.arange(len(positions)), positions] += len(model.assisted)
        self._attention = attention
        return model.output(x, num_best, asked)

    def _inputs(self, layers: Iterable[int], mask: Floats) -> dict[str, Array]:
        arrays = self._memory.arrays
        inputs = {"source_mask": arrays["source_mask"], "mask": mask[:, None]}
        for number in layers:
            inputs |= self._history.of_layer(number)
            inputs[f"source_keys_{number}"] = arrays[f"source_keys_{number}"]
            inputs[f"source_values_{number}"] = arrays[f"source_values_{number}"]
        return inputs

    def _remember(self, first: int, keys_values: Iterable[Floats]) -> None:
        for number, of_layer in enumerate(keys_values, start=first):
            self._rows[number].append(of_layer)

    def attention(self) -> Floats:
        return self._attention

    def commit(self, rows: Ints, parents: Ints) -> None:
        shared = self._model.num_shared
        by_hypothesis = [pick_hypotheses(rounds[0], parents) for rounds in self._rows[:shared]]
        by_row = [(rounds[0] if len(rounds) == 1 else np.concatenate(rounds))[rows] for rounds in self._rows[shared:]]
        self._history.commit(parents, [*by_hypothesis, *by_row])

    def keep(self, sentences: Ints) -> None:
        self._memory = self._memory.keep(sentences)
        self._history.keep(sentences)


class _History:
    """The caches of all layers of a decoder, and the mask that they share."""

    def __init__(self, shape: Shape, num_layers: int, num_sentences: int) -> None:
        self._ancestors = Ancestors(num_sentences)
        self._caches = [Cache(num_sentences, shape.heads, shape.head_width) for _ in range(num_layers)]

    @property
    def step(self) -> int:
        return self._ancestors.step

    @property
    def mask(self) -> Floats:
        """(B, K, n)"""
        return self._ancestors.mask

    def of_layer(self, number: int) -> dict[str, Array]:
        """What a layer's graph reads."""
        return {f"keys_{number}": self._caches[number].keys, f"values_{number}": self._caches[number].values}

    def commit(self, parents: Ints, keys_values: Sequence[Floats]) -> None:
        """keys_values: of each layer, (B, K, 2 * D), of the step that made the next beam's hypotheses."""
        first = self._ancestors.num_used
        slots = self._ancestors.reorder(parents)
        for cache, of_layer in zip(self._caches, keys_values, strict=True):
            cache.write(first, of_layer, self._ancestors.room)
            if slots is not None:
                cache.keep_slots(slots, self._ancestors.room)

    def keep(self, sentences: Ints) -> None:
        self._ancestors.keep(sentences)
        for cache in self._caches:
            cache.keep(sentences)


class AlignmentTransformer:
    """`transformer-jumps` in the alignment role."""

    def __init__(
        self, settings: TransformerJumpsSettings, weights: Weights, *, precision: Precision, threads: int, device: str
    ) -> None:
        self.shape = Shape(settings.width, settings.heads, settings.pre_norm)
        self.num_layers, self.max_jump = settings.decoder_layers, settings.max_jump
        self._encode: Session | None = None
        if settings.encoder == "own":
            source = weights["encoder.embedding.weight"]
            self._source_embedding = Embedding(source)
            self._encode = self._encode_graph(weights.at("encoder"), settings.encoder_layers, precision).session(
                threads, device
            )
        is_tied = not weights.has("embedding.weight")
        self.embedding = self._source_embedding if is_tied else Embedding(weights["embedding.weight"])
        self.advance = self._step_graph(weights, precision).session(threads, device)

    def encode(self, source: Ints) -> Memory:
        assert self._encode is not None, "this model reads the lexical model's encoder"
        mask, lengths = source_mask(source)
        (states,) = self._encode({"x": self._source_embedding.sequences(source), "mask": mask})
        return Memory({"states": states, "source_mask": mask}, lengths)

    def start(self, memory: Memory) -> AlignmentState:
        return AlignmentState(self, memory)

    def _encode_graph(self, weights: Weights, num_layers: int, precision: Precision) -> Graph:
        graph = Graph(precision)
        x = graph.input("x", np.float32, ["B", "S", self.shape.width])
        mask = graph.input("mask", np.float32, ["B", 1, 1, "S"])
        graph.output("states", Layers(graph, self.shape).encoder(x, mask, weights, num_layers))
        return graph

    def _step_graph(self, weights: Weights, precision: Precision) -> Graph:
        graph = Graph(precision)
        layers = Layers(graph, self.shape)
        x = graph.input("x", np.float32, ["B", "K", self.shape.width])
        previous_states = graph.input("previous_states", np.float32, ["B", "K", self.shape.width])
        mask = graph.input("mask", np.float32, ["B", 1, "K", "n"])
        keys_values = []
        for number in range(self.num_layers):
            layer = weights.at(f"layers.{number}")
            slots = self.shape.by_heads("n")
            keys, values = [graph.input(f"{part}_{number}", np.float32, slots) for part in ("keys", "values")]
            inputs = layers.queries(x, layer.at("self_residual"), layer.at("self_attention.inputs"))
            keys_values.append(layers.keys_values(inputs))
            context = layers.linear(
                layers.attend_history(inputs, keys, values, mask), layer.at("self_attention.output")
            )
            x = layers.post(x, context, layer.at("self_residual"))
            x = layers.feed(layers.post(x, previous_states, layer.at("source_residual")), layer)
        jump_logits = layers.linear(layers.final_norm(x, weights), weights.at("output"))
        write_position_logp(graph, jump_logits, self.max_jump)
        for number, of_layer in enumerate(keys_values):
            graph.output(f"keys_values_{number}", of_layer)
        return graph


def write_position_logp(graph: Graph, jump_logits: Value, max_jump: int) -> None:
    """The end of an alignment graph: logits of jumps, (B, K, jumps) -> `position_logp`, (B, K, S).

    Jumps that leave the sentence are masked, the rest renormalised. Inputs: `previous_positions`, (B, K, 1),
    `positions`, (S,), and `outside`, (B, 1, S), -inf at `<s>` and at padding.
    """
    previous = graph.input("previous_positions", np.int64, ["B", "K", 1])
    positions = graph.input("positions", np.int64, ["S"])
    outside = graph.input("outside", np.float32, ["B", 1, "S"])
    jumps = graph.Sub(positions, previous)  # (B, K, S)
    widest = graph.constant(max_jump, np.int64)
    index = graph.Clip(graph.Add(jumps, widest), graph.constant(0, np.int64), graph.constant(2 * max_jump, np.int64))
    logits = graph.Add(graph.GatherElements(jump_logits, index, axis=2), outside)
    is_too_far = graph.Greater(graph.Abs(jumps), widest)
    masked = graph.Where(is_too_far, graph.constant(-np.inf), logits)
    graph.output("position_logp", graph.LogSoftmax(masked, axis=-1))


class PositionInputs:
    """What `write_position_logp` reads of a batch of sentences."""

    def __init__(self, lengths: Ints, num_positions: int) -> None:
        self._positions: Ints = np.arange(num_positions)
        is_outside = (self._positions >= lengths[:, None]) | (self._positions == 0)
        self._outside = np.where(is_outside, np.float32(-np.inf), np.float32(0))[:, None]

    def of(self, previous_positions: Ints) -> dict[str, Array]:
        return {
            "previous_positions": previous_positions[:, :, None],
            "positions": self._positions,
            "outside": self._outside,
        }

    def keep(self, sentences: Ints) -> None:
        self._outside = self._outside[sentences]


class AlignmentState:
    """The alignment model's memory of a beam."""

    def __init__(self, model: AlignmentTransformer, memory: Memory) -> None:
        self._model = model
        self._states: Floats = memory.arrays["states"]
        self._positions = PositionInputs(memory.lengths, self._states.shape[1])
        self._history = _History(model.shape, model.num_layers, len(self._states))

    def position_logp(self, pieces: Ints, previous_positions: Ints) -> Floats:
        inputs = {
            "x": self._model.embedding.step(pieces, self._history.step),
            "previous_states": pick_states(self._states, previous_positions),
            "mask": self._history.mask[:, None],
            **self._positions.of(previous_positions),
        }
        for number in range(self._model.num_layers):
            inputs |= self._history.of_layer(number)
        logp, *self._keys_values = self._model.advance(inputs)
        return logp

    def commit(self, parents: Ints) -> None:
        self._history.commit(parents, [pick_hypotheses(part, parents) for part in self._keys_values])

    def keep(self, sentences: Ints) -> None:
        self._states = self._states[sentences]
        self._positions.keep(sentences)
        self._history.keep(sentences)


def pick_states(states: Floats, positions: Ints) -> Floats:
    """h_{b_i}: states (B, S, D) at positions (B, K) -> (B, K, D)."""
    picked: Floats = pick_hypotheses(states, positions)
    return picked


def layer_numbers(choice: LayerChoice, num_layers: int) -> list[int]:
    """Which layers a setting means."""
    if isinstance(choice, list):
        return sorted(choice)
    return list(range(num_layers)) if choice == "all" else [num_layers - 1]
