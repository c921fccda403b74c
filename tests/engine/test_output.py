"""The output layer: what it says of a row does not depend on the rows beside it."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from alidade.engine.graph import Graph, Precision
from alidade.engine.output import CHUNK_ROWS, OutputLayer
from alidade.search.roles import Asked

WIDTH, NUM_PIECES, NUM_BEST = 8, 70, 5


@pytest.mark.parametrize("precision", get_args(Precision))
def test_many_rows_are_scored_as_few_are(precision: Precision) -> None:
    random = np.random.default_rng(0)
    weight, bias = random.normal(size=(NUM_PIECES, WIDTH)), random.normal(size=NUM_PIECES)
    output = OutputLayer(
        Graph(precision), weight.astype(np.float32), bias.astype(np.float32), None, threads=1, device="cpu"
    )
    num_rows = 2 * CHUNK_ROWS + 7
    features = random.normal(size=(num_rows, WIDTH)).astype(np.float32)
    asked = Asked(random.integers(0, num_rows, 50), random.integers(0, NUM_PIECES, 50))
    many = output(features, NUM_BEST, asked)
    for row in [0, CHUNK_ROWS - 1, CHUNK_ROWS, 2 * CHUNK_ROWS, num_rows - 1]:
        (mine,) = np.nonzero(asked.rows == row)
        few = output(features[row : row + 1], NUM_BEST, Asked(np.zeros_like(mine), asked.pieces[mine]))
        assert few.pieces.tolist() == many.pieces[row : row + 1].tolist()
        np.testing.assert_allclose(few.logp, many.logp[row : row + 1], atol=1e-6)
        np.testing.assert_allclose(few.end_logp, many.end_logp[row : row + 1], atol=1e-6)
    given = output.given_logp(features[asked.rows], asked.pieces)
    np.testing.assert_allclose(many.asked_logp, given, atol=1e-6)
    best = output.given_logp(features, many.pieces[:, 0])
    np.testing.assert_allclose(many.logp[:, 0], best, atol=1e-6)
