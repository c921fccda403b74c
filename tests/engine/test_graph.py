"""Graphs: constants are what was given, and linear layers in eight bits come near, each row for itself."""

from __future__ import annotations

import numpy as np
import pytest

from alidade.engine.graph import LARGEST_NORMED, Floats, Graph, Precision, round_columns

RANDOM = np.random.default_rng(2)


def run_linear(x: Floats, weight: Floats, bias: Floats | None, precision: Precision) -> Floats:
    graph = Graph(precision)
    given = graph.input("x", np.float32, ["R", x.shape[1]])
    graph.output("y", graph.linear(given, weight, bias))
    (y,) = graph.session()({"x": x})
    return y


def random_layer(inputs: int = 64, outputs: int = 48) -> tuple[Floats, Floats]:
    weight, bias = RANDOM.standard_normal((outputs, inputs)), RANDOM.standard_normal(outputs)
    return weight.astype(np.float32), bias.astype(np.float32)


def random_rows(num_rows: int, inputs: int = 64) -> Floats:
    """Rows of very different sizes."""
    rows = RANDOM.standard_normal((num_rows, inputs)) * np.logspace(-3, 3, num_rows)[:, None]
    return rows.astype(np.float32)


def test_a_number_stays_a_scalar() -> None:
    graph = Graph()
    given = graph.input("x", np.float32, [3, 4])
    graph.output("y", graph.Gather(given, graph.constant(1, np.int64)))
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    (y,) = graph.session()({"x": x})
    assert y.tolist() == x[1].tolist()


def test_linear_layers_in_float32() -> None:
    weight, bias = random_layer()
    x = random_rows(7)
    np.testing.assert_allclose(run_linear(x, weight, bias, "float32"), x @ weight.T + bias, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("is_wide", [True, False])
def test_eight_bits_come_near_whatever_the_size_of_a_row(monkeypatch: pytest.MonkeyPatch, is_wide: bool) -> None:
    monkeypatch.setattr("alidade.engine.graph.has_wide_int8", lambda: is_wide)
    weight, _ = random_layer()
    x = random_rows(9)
    difference = np.abs(run_linear(x, weight, None, "int8") - x @ weight.T)
    # Each factor is off by half a step, of which the largest has 127 or 63: errors of 64 summands, mostly cancelling.
    steps = np.abs(x).max(axis=1, keepdims=True) * np.abs(weight).max(axis=1) / (127 if is_wide else 63)
    assert (difference < 4 * np.sqrt(64) * steps).all()
    assert difference.max() > 0


@pytest.mark.parametrize("is_wide", [True, False])
def test_in_eight_bits_no_row_depends_on_another(monkeypatch: pytest.MonkeyPatch, is_wide: bool) -> None:
    monkeypatch.setattr("alidade.engine.graph.has_wide_int8", lambda: is_wide)
    weight, bias = random_layer()
    x = random_rows(11)
    together = run_linear(x, weight, bias, "int8")
    for row in range(len(x)):
        np.testing.assert_array_equal(run_linear(x[row : row + 1], weight, bias, "int8")[0], together[row])


def test_nothing_gives_nothing() -> None:
    weight, bias = random_layer()
    np.testing.assert_array_equal(run_linear(np.zeros((2, 64), np.float32), weight, bias, "int8"), [bias, bias])
    zeros = np.zeros_like(weight)
    np.testing.assert_array_equal(run_linear(random_rows(2), zeros, bias, "int8"), [bias, bias])


def test_seven_bits_do_not_overflow_where_products_are_summed_in_sixteen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest factors there are, all of one sign: 2 * 255 * 127 would be more than sixteen bits hold."""
    monkeypatch.setattr("alidade.engine.graph.has_wide_int8", lambda: False)
    x, weight = np.ones((1, 64), np.float32), np.ones((8, 64), np.float32)
    np.testing.assert_allclose(run_linear(x, weight, None, "int8"), np.full((1, 8), 64.0), rtol=1e-5)
    rounded, scales = round_columns(weight.T, reduced=True)
    assert 2 * 255 * int(rounded.max()) < 2**15
    np.testing.assert_allclose(rounded * scales, weight.T, rtol=1e-6)


@pytest.mark.parametrize("is_wide", [True, False])
@pytest.mark.parametrize(("gain", "shift"), [(1.0, 0.1), (0.02, 0.0), (0.1, 30.0), (0.0, 1.0), (0.0, 0.0)])
def test_what_norms_hand_on_comes_near_in_eight_bits(
    monkeypatch: pytest.MonkeyPatch, is_wide: bool, gain: float, shift: float
) -> None:
    """Whatever the size of the norm's weight and bias, and of the rows before it."""
    monkeypatch.setattr("alidade.engine.graph.has_wide_int8", lambda: is_wide)
    weight, bias = random_layer()
    x = random_rows(9)
    norm_weight = (gain * RANDOM.uniform(0.5, 1.5, 64)).astype(np.float32)
    norm_bias = (shift * RANDOM.uniform(-1, 1, 64)).astype(np.float32)
    found: dict[Precision, Floats] = {}
    for precision in ("float32", "int8"):
        graph = Graph(precision)
        given = graph.input("x", np.float32, ["R", 64])
        graph.output("y", graph.norm_linear(given, norm_weight, norm_bias, 1e-5, weight, bias))
        (found[precision],) = graph.session()({"x": x})
    largest = LARGEST_NORMED * np.sqrt(np.mean(norm_weight**2)) + np.abs(norm_bias).max()
    steps = largest * np.abs(weight).max(axis=1) / (127 if is_wide else 63)
    assert (np.abs(found["int8"] - found["float32"]) <= 4 * np.sqrt(64) * steps + 1e-4).all()


@pytest.mark.parametrize("is_wide", [True, False])
def test_rectified_values_come_near_in_eight_bits(monkeypatch: pytest.MonkeyPatch, is_wide: bool) -> None:
    """Those below 0 are 0, those beyond 1 are cut, and no row depends on another."""
    monkeypatch.setattr("alidade.engine.graph.has_wide_int8", lambda: is_wide)
    weight, bias = random_layer()
    x = RANDOM.uniform(-1.5, 1.5, (9, 64)).astype(np.float32)
    graph = Graph("int8")
    graph.output("y", graph.relu_linear(graph.input("x", np.float32, ["R", 64]), weight, bias))
    session = graph.session()
    (y,) = session({"x": x})
    steps = np.abs(weight).max(axis=1) / (127 if is_wide else 63)
    difference = np.abs(y - (x.clip(0, 1) @ weight.T + bias))
    assert (difference < 2 * np.sqrt(64) * steps).all()
    np.testing.assert_array_equal(session({"x": x[3:4]})[0], y[3:4])
