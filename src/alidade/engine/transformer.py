"""`transformer` and `transformer-aligned` as graphs, in the lexical role of the search (`search/roles.py`).

Three kinds of graph. *Encode* reads a batch of sentences and gives all that depends on the source alone: for each
decoder layer the keys and values of source attention and, if the layer has an alignment head, W_align h_j of all j.
*Advance* takes one step as far as no position matters, once a hypothesis. *Evaluate* goes on from the lowest alignment
head, once a row, a picked (hypothesis, position) pair; a baseline has one row a hypothesis and does both in one graph.
The output layer follows (`output.py`).

Dimensions: B sentences, K beam, R rows, in a grid of N lines of G, S source, n slots, D width, H heads, d = D / H.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from alidade.config import (
    LayerChoice,
    TransformerSettings,
)
from alidade.engine.cache import Grid, Workspace
from alidade.engine.graph import Array, Floats, Graph, Precision, Session, Value
from alidade.engine.layers import (
    Embedding,
    History,
    Layers,
    Memory,
    Shape,
    encode_groups,
    source_mask,
    with_start,
)
from alidade.engine.output import Norm, OutputLayer
from alidade.engine.weights import Weights
from alidade.search.hypotheses import pick
from alidade.search.roles import Asked, Ints, RowPieces

HANDED_OUT = ["x_out", "attention", "inputs"]
"""What the step's graphs give: features of rows, attention, and what self-attention read, for the cache."""


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
        self.row_layers = range(self.num_shared, self.num_layers)
        self.aligned_names = [f"aligned_{number}" for number in self.assisted]
        self._precision: Precision = precision
        source = weights["encoder.embedding.weight"]
        target = weights.or_tied("decoder.embedding.weight", source)
        output = weights.or_tied("output.weight", target)
        self.vocabulary_size = len(output)
        self.source_embedding = Embedding(source, settings.position_rates)
        self.embedding = self.source_embedding if target is source else Embedding(target, settings.position_rates)
        self._encode = self._encode_graph().session(threads, device)
        self._output_weight, self._options = output, (threads, device)
        advance, evaluate = self._step_graphs()
        self.advance = advance.session(threads, device)
        self.features = self.advance if evaluate is None else evaluate.session(threads, device)
        norm = self._last_norm() if settings.pre_norm else None
        self.workspace = Workspace()
        self.output = OutputLayer(self.new_graph(), output, weights["output.bias"], norm, threads, device)

    def encode(self, source: Ints) -> Memory:
        start = self._settings.source_start
        skips_first = start == "skipped"
        mask, lengths = source_mask(source, skips_first=skips_first)
        x = self.source_embedding.sequences(with_start(source, start), skips_first=skips_first)
        names = ["states", *self.memory_names()]
        arrays = encode_groups(self._encode, x, mask, lengths, names)
        return Memory({"source_mask": mask, **dict(zip(names, arrays, strict=True))}, lengths)

    def start(self, memory: Memory, *, same_pieces: bool = False) -> LexicalState:
        return LexicalState(self, memory, same_pieces=same_pieces)

    def guess(self, memory: Memory, pieces: Ints) -> Floats:
        """What pieces would get if nothing but the alignment heads' additions came to the last norm."""
        inputs = {name: memory.arrays[name] for name in self.aligned_names}
        (guessed,) = self._guess_session(inputs | {"weights": self._output_weight[pieces]})
        return guessed

    @cached_property
    def _guess_session(self) -> Session:
        """Made when it is first needed: no translation needs it."""
        graph, width = Graph(), self.shape.width
        added = graph.sum([graph.input(name, np.float32, ["B", "S", width]) for name in self.aligned_names])
        weights = graph.input("weights", np.float32, ["B", "T", width])
        graph.output("guess", graph.FusedMatMul(weights, graph.norm(added, *self._last_norm()), transB=1))
        return graph.session(*self._options)

    def _last_norm(self) -> Norm:
        """The one whose values the output layer reads."""
        last = "decoder" if self.shape.pre_norm else f"decoder.layers.{self.num_layers - 1}.feed_forward_residual"
        norm = self._weights.at(last).at("norm")
        return norm["weight"], norm["bias"], self.shape.norm_epsilon

    def memory_names(self) -> list[str]:
        """What encoding gives besides the states."""
        names = [f"source_{part}_{layer}" for layer in range(self.num_layers) for part in ("keys", "values")]
        return names + self.aligned_names

    def _encode_graph(self) -> Graph:
        graph, weights = Graph(self._precision), self._weights
        layers = Layers(graph, self.shape)
        x = graph.input("x", np.float32, ["B", "S", self.shape.width])
        mask = graph.input("mask", np.float32, ["B", 1, 1, "S"])
        states = layers.encoder(x, mask, weights.at("encoder"), self._settings.encoder_layers)
        graph.output("states", states)
        for number in range(self.num_layers):
            keys_values = weights.at(f"decoder.layers.{number}.source_attention.keys_values")
            both = layers.source_values(states, self.encoder_norm, keys_values)
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
        for number in self.row_layers:
            x = evaluate.upper_layer(number, x)
        evaluate.graph.output("x_out", x)
        evaluate.finish()
        return advance.graph, evaluate.graph

    @property
    def encoder_norm(self) -> Weights:
        """The encoder's last, if norms come first."""
        return self._weights.at("encoder.norm")

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
        self.layers = Layers(self.graph, model.shape, is_step=True)
        self._queries = queries
        self._mask: Value | None = None
        self._source_mask: Value | None = None
        self._attention: list[Value] = []
        self._inputs: list[Value] = []

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
        """Queries, keys and values, which are handed out for the cache."""
        layer = self.model.layer_weights(number)
        residual, weights = layer.at("self_residual"), layer.at("self_attention.inputs")
        self._inputs.append(self.layers.queries(x, residual, weights, shrinks_values=True))
        return self._inputs[-1]

    def history(self, number: int, inputs: Value) -> Value:
        """Self-attention's context, in the grid: (B, T, 3 * D) -> (B, T, D)."""
        shape = self.model.shape.by_heads("n")
        keys = self.graph.input(f"keys_{number}", np.float32, shape)
        values = self.graph.input(f"values_{number}", np.float32, shape)
        return self.layers.attend_history(inputs, keys, values, self.mask)

    def self_attention(self, number: int, x: Value, context: Value) -> Value:
        layer = self.model.layer_weights(number)
        return self.layers.post(x, self.layers.self_attended(context, layer), layer.at("self_residual"))

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
        attention = self.model.layer_weights(number).at("source_attention")
        norm = self.model.encoder_norm
        return self.layers.attended(context, norm, attention.at("keys_values"), attention.at("output"))

    def layer(self, number: int, x: Value, *, is_split: bool) -> Value:
        """A whole layer, or one as far as the addition of its alignment head (`is_split`)."""
        layer = self.model.layer_weights(number)
        x = self.self_attention(number, x, self.history(number, self.inputs(number, x)))
        context = self.source_output(number, self.source(number, self.source_queries(number, x)))
        if is_split:  # the norm after the addition, and all that follows, come once a row
            return Value(self.graph.Add(x, context))
        return self.layers.feed(self.layers.post(x, context, layer.at("source_residual")), layer)

    def finish(self) -> None:
        """Hand out the attention, summed over layers and heads, (B, T, S), and what self-attention read."""
        if self._attention:
            self.graph.output("attention", self.graph.sum(self._attention))
            self.graph.output("inputs", self.graph.Concat(*self._inputs, axis=-1))


class _RowStep(_Step):
    """The rest of the step, once a row."""

    def __init__(self, model: LexicalTransformer) -> None:
        super().__init__(model, "G")
        graph, width = self.graph, model.shape.width
        self._hypotheses = graph.input("hypotheses", np.int64, ["R"])
        self._source_cells = graph.input("source_cells", np.int64, ["R"])
        self._x = graph.input("x", np.float32, ["N", width])
        if model.row_layers:
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
        table = self.graph.input(f"aligned_{number}", np.float32, ["sentences", "S", width])
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
        """(R, X) -> (N, G, X)"""
        return Value(self.graph.Gather(x, self._rows))

    def _from_grid(self, x: Value) -> Value:
        """(N, G, X) -> (R, X)"""
        return Value(self.graph.Gather(self.graph.reshape(x, -1, self.model.shape.width), self._cells))


class _Round(NamedTuple):
    """Rows that were evaluated together."""

    pasts: Ints
    """(R,) whose history each one goes on with."""
    positions: Ints
    """(R,)"""
    read: Floats
    """(R, row layers * 3 * D): what the layers that work once a row have read."""
    attention: Floats
    """(N * G, S): theirs, in the grid."""
    cells: Ints
    """(R,) where each row stands in it."""


class LexicalState:
    """The decoder's memory of a beam.

    If all hypotheses of a sentence have the same pieces, the layers that no position reaches have the same past, too:
    they go forward once a sentence and have a history of their own, as of a beam of one.
    """

    def __init__(self, model: LexicalTransformer, memory: Memory, *, same_pieces: bool) -> None:
        self._model, self._memory = model, memory
        self._same_pieces = same_pieces and model.is_assisted
        num_sentences = len(memory.lengths)
        layers = model.row_layers if self._same_pieces else range(model.num_layers)
        self._history = History(model.shape, layers, num_sentences, model.workspace)
        self._shared_history = self._history
        if self._same_pieces:
            self._shared_history = History(model.shape, range(model.num_shared), num_sentences, model.workspace)
        self._rounds: list[_Round] = []
        """Of this step, in an assisted model."""

    def advance(self, pieces: Ints) -> None:
        """Take in e_{i-1}, (B, K). An assisted model computes what no position changes; a baseline waits."""
        self._num_hypotheses = pieces.shape[1]
        read = pieces[:, :1] if self._same_pieces else pieces
        self._embedded = self._model.embedding.step(read, self._history.step)
        self._rounds.clear()
        if self._model.is_assisted:
            self._x = self._step_hypotheses()

    def _step_hypotheses(self) -> Floats:
        model, history = self._model, self._shared_history
        inputs = self._inputs(range(model.num_shared), history)
        inputs |= {"mask": history.mask[:, None], "x": self._embedded}
        x, attention, self._read = model.advance(inputs, HANDED_OUT)
        self._hypothesis_attention = attention.reshape(-1, attention.shape[2])
        return x

    def evaluate(self, hypotheses: Ints, positions: Ints, num_best: int, asked: Asked) -> RowPieces:
        return self._model.output(self._features(hypotheses, positions), num_best, asked)

    def given_logp(self, hypotheses: Ints, positions: Ints, pieces: Ints) -> Floats:
        return self._model.output.given_logp(self._features(hypotheses, positions), pieces)

    def _features(self, hypotheses: Ints, positions: Ints) -> Floats:
        return self._step_rows(hypotheses, positions) if self._model.is_assisted else self._step_hypotheses()

    def _step_rows(self, hypotheses: Ints, positions: Ints) -> Floats:
        model, arrays = self._model, self._memory.arrays
        sentences = hypotheses // self._num_hypotheses
        pasts = sentences if self._same_pieces else hypotheses
        source_length = arrays["source_mask"].shape[3]
        inputs: dict[str, Array] = {
            "x": self._x,
            "hypotheses": pasts,
            "source_cells": positions if len(self._memory.lengths) == 1 else sentences * source_length + positions,
            **{name: arrays[name] for name in model.aligned_names},
        }
        if model.row_layers:
            grid = Grid(sentences, len(self._memory.lengths))
            masks = self._history.mask
            mask = masks.reshape(-1, masks.shape[2]).take(hypotheses.take(grid.rows), axis=0)
            of_lines = {
                name: grid.of_lines(array) for name, array in self._inputs(model.row_layers, self._history).items()
            }
            inputs |= of_lines | {"mask": mask[:, None], "rows": grid.rows, "cells": grid.cells}
            x, attention, read = model.features(inputs, HANDED_OUT)
            attention, cells = attention.reshape(-1, source_length), grid.cells
        else:
            (x,) = model.features(inputs)
            read, attention = np.zeros((len(pasts), 0), np.float32), np.zeros((1, source_length), np.float32)
            cells = np.zeros_like(pasts)
        self._rounds.append(_Round(pasts, positions, read, attention, cells))
        return x

    def _inputs(self, layers: Iterable[int], history: History) -> dict[str, Array]:
        """What layers read of each sentence; the mask is each query's."""
        arrays = self._memory.arrays
        inputs = {"source_mask": arrays["source_mask"]}
        for number in layers:
            inputs |= history.of_layer(number)
            inputs[f"source_keys_{number}"] = arrays[f"source_keys_{number}"]
            inputs[f"source_values_{number}"] = arrays[f"source_values_{number}"]
        return inputs

    def attention(self, rows: Ints) -> Floats:
        if not self._model.is_assisted:
            return self._hypothesis_attention.take(rows, axis=0)
        all_ = self._all_rows()
        attention = self._hypothesis_attention.take(all_.pasts.take(rows), axis=0)
        attention += all_.attention.take(all_.cells.take(rows), axis=0)
        of_rows = attention.reshape(-1, attention.shape[-1])
        of_rows[np.arange(len(of_rows)), all_.positions.take(rows).ravel()] += len(self._model.assisted)
        return attention

    def _all_rows(self) -> _Round:
        """Those of all rounds of this step."""
        if len(self._rounds) > 1:
            first = np.cumsum([0, *[len(round_.attention) for round_ in self._rounds[:-1]]])
            rounds = zip(self._rounds, first, strict=True)
            moved = [round_._replace(cells=round_.cells + start) for round_, start in rounds]
            self._rounds = [_Round._make(np.concatenate(parts) for parts in zip(*moved, strict=True))]
        return self._rounds[0]

    def commit(self, rows: Ints, parents: Ints) -> None:
        if not self._model.is_assisted:
            self._history.commit(parents, pick(self._read, parents))
            return
        read_by_rows = self._all_rows().read.take(rows, axis=0)
        if self._same_pieces:
            self._shared_history.commit(np.zeros((len(parents), 1), dtype=np.int64), self._read)
            self._history.commit(parents, read_by_rows)
            return
        self._history.commit(parents, np.concatenate([pick(self._read, parents), read_by_rows], axis=2))

    def keep(self, sentences: Ints) -> None:
        self._memory = self._memory.keep(sentences)
        self._history.keep(sentences)
        if self._same_pieces:
            self._shared_history.keep(sentences)


def layer_numbers(choice: LayerChoice, num_layers: int) -> list[int]:
    """Which layers a setting means."""
    if isinstance(choice, list):
        return sorted(choice)
    return list(range(num_layers)) if choice == "all" else [num_layers - 1]
