"""`transformer-jumps` as graphs, in the alignment role of the search (`search/roles.py`).

The end of its step, from jumps to positions, is the recurrent alignment model's, too.

Dimensions: B sentences, K beam, S source, n slots, D width.
"""

from __future__ import annotations

import numpy as np

from alidade.config import (
    TransformerJumpsSettings,
)
from alidade.engine.cache import Workspace
from alidade.engine.graph import Array, Floats, Graph, Precision, Session, Value
from alidade.engine.layers import (
    Embedding,
    History,
    Layers,
    Memory,
    Shape,
    encode_groups,
    pick_states,
    source_mask,
)
from alidade.engine.weights import Weights
from alidade.search.hypotheses import pick
from alidade.search.roles import Ints


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
        self.skip_cost = weights["skip_cost"]
        is_tied = not weights.has("embedding.weight")
        self.embedding = self._source_embedding if is_tied else Embedding(weights["embedding.weight"])
        self.advance = self._step_graph(weights, precision).session(threads, device)
        self.workspace = Workspace()

    def encode(self, source: Ints) -> Memory:
        assert self._encode is not None, "this model reads the lexical model's encoder"
        mask, lengths = source_mask(source)
        x = self._source_embedding.sequences(source)
        (states,) = encode_groups(self._encode, x, mask, lengths, ["states"])
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
        layers = Layers(graph, self.shape, is_step=True)
        x = graph.input("x", np.float32, ["B", "K", self.shape.width])
        previous_states = graph.input("previous_states", np.float32, ["B", "K", self.shape.width])
        mask = graph.input("mask", np.float32, ["B", 1, "K", "n"])
        read = []
        for number in range(self.num_layers):
            layer = weights.at(f"layers.{number}")
            slots = self.shape.by_heads("n")
            keys, values = [graph.input(f"{part}_{number}", np.float32, slots) for part in ("keys", "values")]
            inputs = layers.queries(x, layer.at("self_residual"), layer.at("self_attention.inputs"))
            read.append(inputs)
            context = layers.linear(
                layers.attend_history(inputs, keys, values, mask), layer.at("self_attention.output")
            )
            x = layers.post(x, context, layer.at("self_residual"))
            x = layers.feed(layers.post(x, previous_states, layer.at("source_residual")), layer)
        jump_logits = layers.linear(layers.final_norm(x, weights), weights.at("output"))
        write_position_logp(graph, jump_logits, self.max_jump)
        graph.output("inputs", graph.Concat(*read, axis=-1))
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
        self._history = History(model.shape, range(model.num_layers), len(self._states), model.workspace)

    def position_logp(self, pieces: Ints, previous_positions: Ints) -> Floats:
        inputs = {
            "x": self._model.embedding.step(pieces, self._history.step),
            "previous_states": pick_states(self._states, previous_positions),
            "mask": self._history.mask[:, None],
            **self._positions.of(previous_positions),
        }
        for number in range(self._model.num_layers):
            inputs |= self._history.of_layer(number)
        logp, self._inputs = self._model.advance(inputs)
        return logp

    def commit(self, parents: Ints) -> None:
        self._history.commit(parents, pick(self._inputs, parents))

    def keep(self, sentences: Ints) -> None:
        self._states = self._states[sentences]
        self._positions.keep(sentences)
        self._history.keep(sentences)
