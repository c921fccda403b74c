"""The recurrent models as graphs, and their roles in the search (`search/roles.py`).

As in `transformer.py`: *encode* gives what depends on the source alone; *advance* runs the LSTM layers once a
hypothesis; *evaluate* attention and the best pieces, once a row. A hypothesis's memory is its layers' states, which are
small: they are picked by their parents in each step.

The same equations as in `models/rnn.py`, from the same weights; tests hold the two together.

Dimensions: B sentences, K beam, N = B K, R rows, G the widest row of their grid, S source, E embedding, D width, A
attention, L layers.
"""

from __future__ import annotations

import math

import numpy as np

from alidade.config import RnnJumpsSettings, RnnSettings
from alidade.engine.cache import Grid
from alidade.engine.graph import Array, Floats, Graph, Precision, Session, Value
from alidade.engine.jumps import PositionInputs, write_position_logp
from alidade.engine.layers import Memory, pick_states, source_mask
from alidade.engine.output import OutputLayer
from alidade.engine.weights import Weights
from alidade.search.roles import Asked, Ints, RowPieces
from alidade.text.vocabulary import PAD


class PieceEmbedding:
    """Piece embeddings, scaled."""

    def __init__(self, weight: Floats) -> None:
        self._table = weight * np.float32(math.sqrt(weight.shape[1]))

    def __call__(self, pieces: Ints) -> Floats:
        return self._table[pieces]


class Encoder:
    """A bidirectional LSTM layer, then unidirectional ones on top."""

    def __init__(
        self,
        weights: Weights,
        embedding: Floats,
        num_unidirectional: int,
        further: list[tuple[str, Weights]],
        make: GraphMaker,
    ) -> None:
        """further: linear layers over the states, handed out under names."""
        self.embedding = PieceEmbedding(embedding)
        graph = make.graph()
        embedded = graph.input("x", np.float32, ["S", "B", embedding.shape[1]])
        reversal = graph.input("reversal", np.int64, ["S", "B", 1])
        is_word = graph.input("is_word", np.float32, ["B", "S", 1])
        rightwards = _lstm(graph, embedded, weights.at("rightwards.gates"))
        leftwards = _lstm(graph, _take(graph, embedded, reversal), weights.at("leftwards.gates"))
        states = graph.Concat(rightwards, _take(graph, leftwards, reversal), axis=-1)
        for number in range(num_unidirectional):
            states = graph.Add(states, _lstm(graph, states, weights.at(f"unidirectional.layers.{number}.gates")))
        states = graph.Mul(graph.Transpose(states, perm=[1, 0, 2]), is_word)  # (B, S, D), zero at padding
        graph.output("states", states)
        for name, layer in further:
            graph.output(name, graph.linear(states, layer["weight"], layer.optional("bias")))
        self._names = ["states", *[name for name, _ in further]]
        self._session = make.session(graph)

    def __call__(self, source: Ints) -> Memory:
        mask, lengths = source_mask(source)
        is_padding = source == PAD
        places = np.arange(source.shape[1])
        # Each sentence turned round, with its padding still at the end: no LSTM reads padding first.
        reversal = np.where(is_padding, places, lengths[:, None] - 1 - places).T[:, :, None]
        is_word = (~is_padding)[:, :, None].astype(np.float32)
        inputs = {"x": self.embedding(source.T), "reversal": np.ascontiguousarray(reversal), "is_word": is_word}
        arrays = dict(zip(self._names, self._session(inputs, self._names), strict=True))
        return Memory({"source_mask": mask, **arrays}, lengths)


class GraphMaker:
    """How all graphs of a model are made."""

    def __init__(self, precision: Precision, threads: int, device: str) -> None:
        self._precision: Precision = precision
        self._threads, self._device = threads, device

    def graph(self) -> Graph:
        return Graph(self._precision)

    def session(self, graph: Graph) -> Session:
        return graph.session(self._threads, self._device)


def _take(graph: Graph, x: Value, places: Value) -> Value:
    """Steps in another order for each sentence: (S, B, X), (S, B, 1) -> (S, B, X)."""
    return Value(graph.GatherElements(x, graph.Expand(places, graph.Shape(x)), axis=0))


def _lstm(graph: Graph, x: Value, gates: Weights) -> Value:
    """Whole sequences through ONNX's own operator, whose gates stand in another order: (S, B, X) -> (S, B, D)."""
    weight, bias = gates["weight"], gates["bias"]
    width = len(bias) // 4
    order = np.concatenate([np.arange(width) + gate * width for gate in (0, 3, 1, 2)])  # i o f c, for i f c o here
    of_inputs, of_h = weight[order, :-width], weight[order, -width:]
    biases = np.concatenate([bias[order], np.zeros_like(bias)])
    states = graph.op(
        "LSTM",
        x,
        graph.constant(of_inputs[None]),
        graph.constant(of_h[None]),
        graph.constant(biases[None]),
        num_outputs=3,
        hidden_size=width,
    )[0]  # (S, 1, B, D)
    return Value(graph.Squeeze(states, graph.ints(1)))


def _lstm_step(
    graph: Graph, x: Value, h: Value, c: Value, gates: Weights, more: Value | None = None
) -> tuple[Value, Value]:
    """One step of a layer, (N, X) -> h and c, (N, D) each; `more`, (N, 4 D), is added to the gates."""
    total = graph.linear(Value(graph.Concat(x, h, axis=-1)), gates["weight"], gates["bias"])
    total = total if more is None else graph.Add(total, more)
    into, forget, candidate, out = graph.op("Split", total, num_outputs=4, axis=-1)
    c = graph.Add(graph.Mul(graph.Sigmoid(forget), c), graph.Mul(graph.Sigmoid(into), graph.Tanh(candidate)))
    return Value(graph.Mul(graph.Sigmoid(out), graph.Tanh(c))), c


class LexicalRnn:
    """`rnn` and `rnn-biased` in the lexical role."""

    def __init__(
        self, settings: RnnSettings, weights: Weights, *, precision: Precision, threads: int, device: str
    ) -> None:
        make = GraphMaker(precision, threads, device)
        self.is_assisted = settings.kind == "rnn-biased"
        self.num_layers, self.width = settings.decoder_layers, settings.width
        decoder = weights.at("decoder")
        further = [("keys", decoder.at("key")), ("values", decoder.at("context"))]
        source = weights["encoder.embedding.weight"]
        self.encode = Encoder(weights.at("encoder"), source, settings.unidirectional_encoder_layers, further, make)
        target = weights.or_tied("decoder.embedding.weight", source)
        output = weights.or_tied("output.weight", target)
        self.embedding = PieceEmbedding(target)
        self.initial = make.session(self._initial_graph(make.graph(), decoder))
        self.advance = make.session(self._advance_graph(make.graph(), decoder, target.shape[1]))
        evaluate = self._evaluate_graph(make.graph(), decoder)
        self.features = make.session(evaluate)
        self.output = OutputLayer(make.graph(), output, weights["output.bias"], None, threads, device)

    def start(self, memory: Memory, *, same_pieces: bool = False) -> LexicalRnnState:  # noqa: ARG002  # all is fed back
        return LexicalRnnState(self, memory)

    def guess(self, memory: Memory, pieces: Ints) -> Floats:
        """Nothing: a position is a bias of attention and adds nothing by itself."""
        return np.zeros((*pieces.shape, memory.arrays["states"].shape[1]), dtype=np.float32)

    def _initial_graph(self, graph: Graph, decoder: Weights) -> Graph:
        """The layers' states before the first step, from the mean of the encoder's: (B, D) -> (B, 2 L D)."""
        mean = graph.input("mean", np.float32, ["B", self.width])
        layer = decoder.at("initial")
        graph.output("states", graph.Tanh(graph.linear(mean, layer["weight"], layer["bias"])))
        return graph

    def _advance_graph(self, graph: Graph, decoder: Weights, embedding: int) -> Graph:
        """s_i and what attention starts from: W s_i, (N, A), energies without a bias, (B, K, S), W_s s_i, (N, D)."""
        embedded = graph.input("x", np.float32, ["N", embedding])
        output = graph.input("fed", np.float32, ["N", self.width])
        keys = graph.input("keys", np.float32, ["B", "S", decoder["key.weight"].shape[0]])
        mask = graph.input("source_mask", np.float32, ["B", 1, "S"])
        states = graph.input("states", np.float32, [2 * self.num_layers, "N", self.width])
        parts = [Value(graph.Gather(states, graph.constant(number, np.int64))) for number in range(2 * self.num_layers)]
        more = graph.linear(embedded, decoder["word_gates.weight"])
        new: list[Value] = []
        for number in range(self.num_layers):
            gates = decoder.at(f"layers.{number}.gates")
            h, c = _lstm_step(graph, output, parts[2 * number], parts[2 * number + 1], gates, None if number else more)
            output = Value(graph.Add(output, h)) if number else h
            new += [Value(graph.Unsqueeze(one, graph.ints(0))) for one in (h, c)]
        graph.output("new_states", graph.Concat(*new, axis=0))
        query = graph.linear(output, decoder["query.weight"])
        in_grid = graph.Reshape(query, graph.input("grid", np.int64, [4]))  # (B, K, 1, A)
        hidden = graph.Tanh(graph.Add(in_grid, graph.Unsqueeze(keys, graph.ints(1))))  # (B, K, S, A)
        energies = graph.MatMul(hidden, graph.constant(decoder["energy"][:, None]))  # (B, K, S, 1)
        graph.output("energies", graph.Add(graph.Squeeze(energies, graph.ints(3)), mask))
        graph.output("query", query)
        graph.output("from_state", graph.linear(output, decoder["state.weight"], decoder["state.bias"]))
        return graph

    def _evaluate_graph(self, graph: Graph, decoder: Weights) -> Graph:
        """Attention and a_i, once a row."""
        energies = graph.input("energies", np.float32, ["R", "S"])
        from_state = graph.input("from_state", np.float32, ["R", self.width])
        values = graph.input("values", np.float32, ["B", "S", self.width])
        rows = graph.input("rows", np.int64, ["B", "G"])
        cells = graph.input("cells", np.int64, ["R"])
        if self.is_assisted:
            query = graph.input("query", np.float32, ["R", len(decoder["energy"])])
            aligned_keys = graph.input("aligned_keys", np.float32, ["R", len(decoder["energy"])])
            positions = graph.input("positions", np.int64, ["R", 1])
            at_position = graph.Add(query, aligned_keys)
            biased = graph.Tanh(graph.Add(at_position, graph.constant(decoder["bias.vector"])))
            gain = graph.MatMul(graph.Sub(biased, graph.Tanh(at_position)), graph.constant(decoder["energy"][:, None]))
            there = graph.GatherElements(energies, positions, axis=1)
            energies = graph.ScatterElements(energies, positions, graph.Add(there, gain), axis=1)
        attention = graph.Softmax(energies, axis=-1)
        context = graph.MatMul(graph.Gather(attention, rows), values)  # (B, G, D)
        context = graph.Gather(graph.reshape(context, -1, self.width), cells)
        features = graph.Tanh(graph.Add(from_state, context))
        graph.output("attention", attention)
        graph.output("features", features)
        return graph


class LexicalRnnState:
    """The decoder's memory of a beam."""

    def __init__(self, model: LexicalRnn, memory: Memory) -> None:
        self._model, self._memory = model, memory
        mean = memory.arrays["states"].sum(axis=1) / memory.lengths[:, None].astype(np.float32)
        (initial,) = model.initial({"mean": mean})  # (B, 2 L D)
        self._states: Floats = np.stack(np.split(initial, 2 * model.num_layers, axis=1))
        """(2 L, N, D): h and c of each layer in turn."""
        self._fed: Floats = np.zeros_like(mean)
        """(N, D): a_{i-1}"""
        self._features: list[Floats] = []
        self._attention: list[Floats] = []
        """Of the rows of this step, in each round."""

    def advance(self, pieces: Ints) -> None:
        """The LSTM and the energies without a bias, once a hypothesis."""
        arrays, model = self._memory.arrays, self._model
        self._num_hypotheses = pieces.shape[1]
        keys = arrays["keys"]
        inputs: dict[str, Array] = {
            "x": model.embedding(pieces.ravel()),
            "fed": self._fed,
            "keys": keys,
            "source_mask": arrays["source_mask"][:, 0],
            "states": self._states,
            "grid": np.array([*pieces.shape, 1, keys.shape[2]]),
        }
        self._states, energies, self._query, self._from_state = model.advance(
            inputs, ["new_states", "energies", "query", "from_state"]
        )
        self._energies = energies.reshape(-1, energies.shape[2])
        self._features.clear()
        self._attention.clear()

    def evaluate(self, hypotheses: Ints, positions: Ints, num_best: int, asked: Asked) -> RowPieces:
        return self._model.output(self._row_features(hypotheses, positions), num_best, asked)

    def given_logp(self, hypotheses: Ints, positions: Ints, pieces: Ints) -> Floats:
        return self._model.output.given_logp(self._row_features(hypotheses, positions), pieces)

    def _row_features(self, hypotheses: Ints, positions: Ints) -> Floats:
        """Attention and features, once a row."""
        arrays, model = self._memory.arrays, self._model
        sentences = hypotheses // self._num_hypotheses
        grid = Grid(sentences, len(self._memory.lengths))
        inputs: dict[str, Array] = {
            "energies": self._energies[hypotheses],
            "from_state": self._from_state[hypotheses],
            "values": grid.of_lines(arrays["values"]),
            "rows": grid.rows,
            "cells": grid.cells,
        }
        if model.is_assisted:
            inputs["query"] = self._query[hypotheses]
            inputs["aligned_keys"] = arrays["keys"][sentences, positions]
            inputs["positions"] = positions[:, None]
        attention, features = model.features(inputs, ["attention", "features"])
        if model.is_assisted:
            attention[np.arange(len(positions)), positions] += 1.0
        self._attention.append(attention)
        self._features.append(features)
        return features

    def attention(self, rows: Ints) -> Floats:
        return np.concatenate(self._attention)[rows]

    def commit(self, rows: Ints, parents: Ints) -> None:
        first = np.arange(len(parents))[:, None] * self._num_hypotheses
        self._states = self._states[:, (first + parents).ravel()]
        self._fed = np.concatenate(self._features)[rows.ravel()]
        self._num_hypotheses = parents.shape[1]

    def keep(self, sentences: Ints) -> None:
        beam_size = self._num_hypotheses
        hypotheses = (sentences[:, None] * beam_size + np.arange(beam_size)).ravel()
        self._states, self._fed = self._states[:, hypotheses], self._fed[hypotheses]
        self._memory = self._memory.keep(sentences)


class AlignmentRnn:
    """`rnn-jumps` in the alignment role."""

    def __init__(
        self, settings: RnnJumpsSettings, weights: Weights, *, precision: Precision, threads: int, device: str
    ) -> None:
        make = GraphMaker(precision, threads, device)
        self.num_layers, self.width, self.max_jump = settings.decoder_layers, settings.width, settings.max_jump
        target = weights["embedding.weight"]
        self.embedding = PieceEmbedding(target)
        self._encode = None
        if settings.encoder == "own":
            source = weights.or_tied("encoder.embedding.weight", target)
            self._encode = Encoder(weights.at("encoder"), source, settings.unidirectional_encoder_layers, [], make)
        self.skip_cost = weights["skip_cost"]
        self.advance = make.session(self._step_graph(make.graph(), weights))

    def encode(self, source: Ints) -> Memory:
        assert self._encode is not None, "this model reads the lexical model's encoder"
        return self._encode(source)

    def start(self, memory: Memory) -> AlignmentRnnState:
        return AlignmentRnnState(self, memory)

    def _step_graph(self, graph: Graph, weights: Weights) -> Graph:
        read = weights["decoder.layers.0.gates.weight"].shape[1] - self.width
        x: Value = graph.input("x", np.float32, ["N", read])
        states = graph.input("states", np.float32, [2 * self.num_layers, "N", self.width])
        new: list[Value] = []
        width = read
        for number in range(self.num_layers):
            h, c = [Value(graph.Gather(states, graph.constant(2 * number + part, np.int64))) for part in (0, 1)]
            h, c = _lstm_step(graph, x, h, c, weights.at(f"decoder.layers.{number}.gates"))
            x = Value(graph.Add(x, h)) if width == self.width else h
            width = self.width
            new += [Value(graph.Unsqueeze(one, graph.ints(0))) for one in (h, c)]
        graph.output("new_states", graph.Concat(*new, axis=0))
        logits = graph.linear(x, weights["output.weight"], weights["output.bias"])
        in_grid = graph.Reshape(logits, graph.input("grid", np.int64, [3]))
        write_position_logp(graph, in_grid, self.max_jump)
        return graph


class AlignmentRnnState:
    """The alignment model's memory of a beam."""

    def __init__(self, model: AlignmentRnn, memory: Memory) -> None:
        self._model = model
        self._encoded: Floats = memory.arrays["states"]
        self._positions = PositionInputs(memory.lengths, self._encoded.shape[1])
        self._states: Floats = np.zeros((2 * model.num_layers, len(self._encoded), model.width), dtype=np.float32)

    def position_logp(self, pieces: Ints, previous_positions: Ints) -> Floats:
        model = self._model
        self._num_hypotheses = pieces.shape[1]
        read = [model.embedding(pieces), pick_states(self._encoded, previous_positions)]
        inputs = {
            "x": np.concatenate(read, axis=2).reshape(pieces.size, -1),
            "states": self._states,
            "grid": np.array([*pieces.shape, 2 * model.max_jump + 1]),
            **self._positions.of(previous_positions),
        }
        self._states, logp = model.advance(inputs, ["new_states", "position_logp"])
        return logp

    def commit(self, parents: Ints) -> None:
        first = np.arange(len(parents))[:, None] * self._num_hypotheses
        self._states = self._states[:, (first + parents).ravel()]
        self._num_hypotheses = parents.shape[1]

    def keep(self, sentences: Ints) -> None:
        hypotheses = (sentences[:, None] * self._num_hypotheses + np.arange(self._num_hypotheses)).ravel()
        self._states = self._states[:, hypotheses]
        self._encoded = self._encoded[sentences]
        self._positions.keep(sentences)
