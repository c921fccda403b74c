"""Graphs for ONNX Runtime, put together from weights: what the engine's models are written in.

A `Graph` is filled from top to bottom like a function: `graph.input(...)`, operators by their ONNX names
(`graph.MatMul(x, y)`), `graph.output(...)`; `graph.session(...)` makes it run. Graphs are made when a model is loaded
and never read from a file: a model folder holds numbers and JSON, and nothing in it can run.

Linear layers multiply in float32 or in eight bits. In eight bits each row of the input has a scale of its own, the
largest value of the row, or a constant one where weights tell the size, and each column of the weight has one; so what
a row gives does not depend on the rows beside it, and a batch translates as its sentences do one by one.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnx import helper, numpy_helper

Precision = Literal["float32", "int8"]
Floats = npt.NDArray[np.float32]
Array = npt.NDArray[Any]

OPSET = 17
IR_VERSION = 10
"""Versions of the operators and of the format: what ONNX Runtime of 2023 and later reads."""
_EXTRA_DOMAIN = "com.microsoft"
_EXTRA_OPERATORS = {"FusedMatMul", "MatMulIntegerToFloat"}
"""ONNX Runtime's own operators, beside the standard's."""
_LARGEST, _LARGEST_REDUCED, _LARGEST_UNSIGNED = 127, 63, 255
_INPUT_ZERO = 128
LARGEST_NORMED = 5.0
"""Normed values beyond this, five times what is usual, are cut; beyond the root of the width there are none."""


class Value(str):
    """The name of a tensor in a graph."""

    __slots__ = ()


class Graph:
    """A graph under construction. Every attribute that begins with a capital is an operator."""

    def __init__(self, precision: Precision = "float32") -> None:
        self.precision = precision
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._initialisers: dict[str, Any] = {}

    def input(self, name: str, dtype: npt.DTypeLike, shape: Sequence[str | int]) -> Value:
        """A tensor that is given in each run; dimensions with a name may vary."""
        self._inputs.append(
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
        )
        return Value(name)

    def output(self, name: str, value: Value, dtype: npt.DTypeLike = np.float32) -> None:
        """Hand a tensor out under a name."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)
        )

    def constant(self, array: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> Value:
        """A tensor that stands in the graph."""
        values = np.asarray(array, dtype=dtype, order="C")  # `ascontiguousarray` makes vectors of scalars
        if values.size < 64:  # the same small number is asked for again and again
            name = f"c{values.dtype}{values.shape}{values.ravel().tolist()}"
        else:
            name = f"w{len(self._initialisers)}"
        if name not in self._initialisers:
            self._initialisers[name] = numpy_helper.from_array(values, name)
        return Value(name)

    def ints(self, *numbers: int) -> Value:
        """Shapes, axes, counts."""
        return self.constant(numbers, np.int64)

    def op(self, operator: str, *inputs: str, num_outputs: int = 1, **attributes: Any) -> Any:
        """Apply an operator: a value, or a list of them if there are several outputs."""
        outputs = [Value(f"v{len(self._nodes)}_{number}") for number in range(num_outputs)]
        domain = _EXTRA_DOMAIN if operator in _EXTRA_OPERATORS else ""
        self._nodes.append(helper.make_node(operator, list(inputs), outputs, domain=domain, **attributes))
        return outputs[0] if num_outputs == 1 else outputs

    def __getattr__(self, operator: str) -> Any:
        if not operator[:1].isupper():
            raise AttributeError(operator)
        return lambda *inputs, **attributes: self.op(operator, *inputs, **attributes)

    def reshape(self, x: Value, *shape: int) -> Value:
        """0 keeps a dimension, -1 takes what is left."""
        return Value(self.Reshape(x, self.ints(*shape)))

    def sum(self, values: Sequence[Value]) -> Value:
        total = values[0]
        for value in values[1:]:
            total = self.Add(total, value)
        return total

    def norm(self, x: Value, weight: Floats, bias: Floats, epsilon: float = 1e-5) -> Value:
        """Layer norm over the last dimension."""
        return Value(self.LayerNormalization(x, self.constant(weight), self.constant(bias), axis=-1, epsilon=epsilon))

    def linear(self, x: Value, weight: Floats, bias: Floats | None = None, *, is_negative: bool = True) -> Value:
        """x weight^T + bias. weight: (outputs, inputs). is_negative: whether values of x may be."""
        if self.precision == "float32":
            product = self.MatMul(x, self.constant(weight.T))
        else:
            product = self._multiply_int8(x, weight, self.Abs(x) if is_negative else x)
        return Value(product if bias is None else self.Add(product, self.constant(bias)))

    def norm_linear(
        self, x: Value, norm_weight: Floats, norm_bias: Floats, epsilon: float, weight: Floats, bias: Floats
    ) -> Value:
        """norm(x) weight^T + bias.

        What a norm gives has about the same size in all rows, its weight's. So in eight bits its scale is a constant:
        no row need be searched for its largest value, nor the output gone through again to scale it.
        """
        normed = self.norm(x, norm_weight, norm_bias, epsilon)
        if self.precision == "float32":
            return self.linear(normed, weight, bias)
        largest = min(LARGEST_NORMED, len(norm_weight) ** 0.5) * np.sqrt(np.mean(norm_weight**2))
        largest = max(largest + np.abs(norm_bias).max(), 1e-20)
        return self._multiply_rounded(normed, largest / _LARGEST, _INPUT_ZERO, weight, bias)

    def bounded_linear(self, x: Value, weight: Floats, bias: Floats) -> Value:
        """x weight^T + bias in eight bits, of values that hardly exceed 1 in size: those beyond are cut."""
        return self._multiply_rounded(x, 1 / _LARGEST, _INPUT_ZERO, weight, bias)

    def relu_linear(self, x: Value, weight: Floats, bias: Floats) -> Value:
        """relu(x) weight^T + bias in eight bits, of values that hardly exceed 1: those beyond are cut.

        Rounded to whole numbers from 0 on, x is rectified already, with twice the steps that both signs would have.
        """
        return self._multiply_rounded(x, 1 / _LARGEST_UNSIGNED, 0, weight, bias)

    def _multiply_rounded(self, x: Value, step: float, zero: int, weight: Floats, bias: Floats | None = None) -> Value:
        """x weight^T + bias, x rounded to multiples of a step and cut below -zero and above 255 - zero of them."""
        rounded, scales = round_columns(weight.T, reduced=not has_wide_int8())
        step_, zero_ = self.constant(step), self.constant(zero, np.uint8)
        product = self.MatMulIntegerToFloat(
            self.QuantizeLinear(x, step_, zero_),
            self.constant(rounded, np.int8),
            step_,
            self.constant(scales),
            zero_,
            self.constant(np.zeros(len(scales)), np.int8),
            *([] if bias is None else [self.constant(bias)]),
        )
        return Value(product)

    def _multiply_int8(self, x: Value, weight: Floats, sizes: Value) -> Value:
        """sizes: x without its signs."""
        largest = self.Max(self.ReduceMax(sizes, axes=[-1], keepdims=1), self.constant(1e-20))  # (..., 1)
        product = self._multiply_rounded(self.Div(x, largest), 1 / _LARGEST, _INPUT_ZERO, weight)
        return Value(self.Mul(product, largest))

    def session(self, threads: int = 1, device: str = "cpu") -> Session:
        """The finished graph, ready to run."""
        graph = helper.make_graph(
            self._nodes, "alidade", self._inputs, self._outputs, list(self._initialisers.values())
        )
        domains = [helper.make_opsetid("", OPSET), helper.make_opsetid(_EXTRA_DOMAIN, 1)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=IR_VERSION)
        return Session(model.SerializeToString(), threads, device)


class Session:
    """A graph that runs: arrays in by name, arrays out in the order of the outputs."""

    def __init__(self, model: bytes, threads: int, device: str) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Shapes differ from step to step: a plan of memory for each would be made, kept and hardly used again.
        options.enable_mem_pattern = False
        # Idle threads wait instead of spinning: with several processes on a machine, spinning takes the others' time.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        providers = ["CPUExecutionProvider"] if device == "cpu" else ["CUDAExecutionProvider", "CPUExecutionProvider"]
        # The fused norm of a sum takes five times as long as the two apart.
        session = onnxruntime.InferenceSession(
            model, options, providers=providers, disabled_optimizers=["SkipLayerNormFusion"]
        )
        self._outputs = [output.name for output in session.get_outputs()]
        # What `run` calls after it has looked at each input in Python, which takes 4 % of a single sentence's time: the
        # same arguments, the same answers.
        self._run = getattr(session, "_sess", session).run

    def __call__(self, inputs: Mapping[str, Array], outputs: Sequence[str] | None = None) -> list[Array]:
        """outputs: their names; None: all."""
        return self._run(outputs or self._outputs, inputs, None)  # type: ignore[no-any-return]


def round_columns(weight: Floats, *, reduced: bool) -> tuple[npt.NDArray[np.int8], Floats]:
    """A weight, (inputs, outputs), as whole numbers and a scale for each column; `reduced`: seven bits."""
    largest = _LARGEST_REDUCED if reduced else _LARGEST
    scales = np.abs(weight).max(axis=0) / largest
    scales[scales == 0] = 1.0
    return np.rint(weight / scales).astype(np.int8), scales.astype(np.float32)


@cache
def has_wide_int8() -> bool:
    """Whether the processor sums products of eight bits without overflow (VNNI, ARM's dot products).

    Without, pairs of products are summed in sixteen bits, and weights of eight bits overflow them: seven bits do not.
    """
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    try:
        description = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return any(flag in description for flag in ("avx512_vnni", "avx_vnni", "asimddp"))
