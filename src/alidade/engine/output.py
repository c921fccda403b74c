"""The output layer of a lexical model: from features of rows to their best pieces.

A row's log-probabilities of all pieces never leave the graph: only the best ones do, and those that were asked for.
Where the target is given nothing else is asked for, and a graph of its own does not look for the best.

The pieces that no row writes (`</s>`, `<unk>`, ...) have a share of the probability but no place among the best: their
columns are the last ones, in a block of their own that is not looked at.

Rows go through all at once, or in large chunks if there are very many, so that memory is bounded.

Dimensions: R rows, D width, V vocabulary, k best pieces of a row.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from alidade.engine.graph import Floats, Graph, Session, Value
from alidade.search.roles import Asked, Ints, RowPieces
from alidade.text.vocabulary import EOS, NUM_SPECIAL

BLOCK = 64
"""A row's k best pieces are in the k blocks of this many with the highest maxima: few blocks are looked at closely."""
FEWEST_BLOCKS = 64
"""Smaller vocabularies are sorted as they are."""
CHUNK_ROWS = 320
"""Rows that are scored at once: 10 MB of logits with 8,000 pieces."""

HANDED_OUT = ["best", "best_logp", "end_logp", "asked_logp"]

Norm = tuple[Floats, Floats, float]
"""Weight, bias and epsilon of a layer norm."""


class OutputLayer:
    """Scores pieces; safe to use from several threads."""

    def __init__(
        self, graph: Graph, weight: Floats, bias: Floats, norm: Norm | None, threads: int, device: str
    ) -> None:
        """graph: a new one. weight: (V, D). norm: of what the layer reads, if that is still to come."""
        num_words = len(weight) - NUM_SPECIAL
        self._has_blocks = len(weight) >= FEWEST_BLOCKS * BLOCK
        num_blocks = -(-num_words // BLOCK)
        self._num_columns = (num_blocks + 1) * BLOCK if self._has_blocks else len(weight)
        self._most = num_blocks if self._has_blocks else num_words
        self._weights, self._options = (weight, bias, norm), (graph.precision, threads, device)
        self._write_best(graph, self._write_logp(graph))
        self._session = graph.session(threads, device)

    @cached_property
    def _given_session(self) -> Session:
        """For given pieces alone; made when it is first needed, since it has the weights once more."""
        precision, threads, device = self._options
        graph = Graph(precision)
        self._write_logp(graph)
        return graph.session(threads, device)

    def _write_logp(self, graph: Graph) -> Value:
        """The log-probabilities of all pieces, (R, V), of which those that are asked for are handed out."""
        (weight, bias, norm), num_columns = self._weights, self._num_columns
        columns = self._columns(np.arange(len(weight)))
        spread_weight = np.zeros((num_columns, weight.shape[1]), dtype=np.float32)
        spread_bias = np.full(num_columns, -np.inf, dtype=np.float32)
        spread_weight[columns], spread_bias[columns] = weight, bias
        features = graph.input("features", np.float32, ["R", weight.shape[1]])
        asked = graph.input("asked", np.int64, ["asked"])
        logits = (
            graph.linear(features, spread_weight, spread_bias)
            if norm is None
            else graph.norm_linear(features, *norm, spread_weight, spread_bias)
        )
        logp = Value(graph.LogSoftmax(logits, axis=-1))
        graph.output("asked_logp", graph.Gather(graph.reshape(logp, -1), asked))
        return logp

    def _columns(self, pieces: Ints) -> Ints:
        """Where pieces stand: the special ones at the end."""
        return (pieces - NUM_SPECIAL) % self._num_columns

    def _write_best(self, graph: Graph, logp: Value) -> None:
        num_best = graph.input("num_best", np.int64, [1])
        if self._has_blocks:
            blocks = graph.reshape(logp, 0, -1, BLOCK)
            highest = self._without_last(graph, graph.ReduceMax(blocks, axes=[2], keepdims=0), 1)
            best_blocks = graph.op("TopK", highest, num_best, num_outputs=2, axis=1, sorted=0)[1]  # (R, k)
            near = graph.GatherND(blocks, graph.Unsqueeze(best_blocks, graph.ints(2)), batch_dims=1)  # (R, k, 64)
            best_logp, places = graph.op("TopK", graph.reshape(near, 0, -1), num_best, num_outputs=2, axis=1)
            size = graph.ints(BLOCK)
            block = graph.GatherElements(best_blocks, graph.Div(places, size), axis=1)
            columns = graph.Add(graph.Mul(block, size), graph.Mod(places, size))
        else:
            of_words = self._without_last(graph, logp, NUM_SPECIAL)
            best_logp, columns = graph.op("TopK", of_words, num_best, num_outputs=2, axis=1)
        graph.output("best", graph.Add(columns, graph.ints(NUM_SPECIAL)), np.int64)
        graph.output("best_logp", best_logp)
        end = int(self._columns(np.array(EOS)))
        graph.output("end_logp", graph.reshape(graph.Slice(logp, *[graph.ints(n) for n in (end, end + 1, 1)]), -1))

    def _without_last(self, graph: Graph, x: Value, count: int) -> Value:
        """(R, X) -> (R, X - count)"""
        return Value(graph.Slice(x, *[graph.ints(n) for n in (0, -count, 1)]))

    def __call__(self, features: Floats, num_best: int, asked: Asked) -> RowPieces:
        """The best pieces of rows, features (R, D), and the log-probabilities of pieces that are asked for.

        A large vocabulary gives at most a block's worth of best pieces for each of its blocks: V / 64.
        """
        most = np.array([min(num_best, self._most)])
        if len(features) <= CHUNK_ROWS:
            return RowPieces(*self._ask(features, most, asked.rows, asked.pieces))
        parts, asked_logp = [], np.zeros(len(asked.rows), dtype=np.float32)
        for first in range(0, len(features), CHUNK_ROWS):
            mine = np.flatnonzero((asked.rows >= first) & (asked.rows < first + CHUNK_ROWS))
            chunk = features[first : first + CHUNK_ROWS]
            *found, asked_logp[mine] = self._ask(chunk, most, asked.rows[mine] - first, asked.pieces[mine])
            parts.append(found)
        best, logp, end_logp = [np.concatenate(part) for part in zip(*parts, strict=True)]
        return RowPieces(best, logp, end_logp, asked_logp)

    def _ask(self, features: Floats, num_best: Ints, rows: Ints, pieces: Ints) -> list[Any]:
        places = rows * self._num_columns + self._columns(pieces) if len(rows) else rows
        return self._session({"features": features, "num_best": num_best, "asked": places}, HANDED_OUT)

    def given_logp(self, features: Floats, pieces: Ints) -> Floats:
        """(R,): the log-probability of one piece of each row."""
        parts = []
        for first in range(0, len(features), CHUNK_ROWS):
            some = pieces[first : first + CHUNK_ROWS]
            places = np.arange(len(some)) * self._num_columns + self._columns(some)
            chunk = features[first : first + CHUNK_ROWS]
            parts.append(self._given_session({"features": chunk, "asked": places})[0])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
