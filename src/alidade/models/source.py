"""How a step of the search attends to the source: what depends on the sentence alone is computed once a sentence.

`PlainSource` has the keys and values. `FoldedSource` goes further and multiplies the layer's query and output matrices
into them: with queries W_q x + b_q, keys k_j, values v_j and output matrix W_o of a head,

    energy_j = x . (W_q^T k_j) + b_q . k_j        output = sum_j a_j (W_o v_j)

so that a step has two products fewer and needs no splitting into heads. The folded tables are larger than keys and
values; for few sentences that are not long they are nevertheless quicker, since the step's own weights are not read.

Dimensions: B sentences, K queries, H heads, d width of a head, S source, D width.
"""

from __future__ import annotations

import torch
from torch import Tensor

from alidade.models.layers import Memory, SourceAttention, join_heads, multiply_heads, split_heads

FEW_SENTENCES = 4
"""More sentences' tables do not fit into a cache."""


class PlainSource:
    """Keys and values of one layer.

    Energies and contexts are batched products: for few queries they are quicker than torch's fused attention, and the
    attention itself is at hand.
    """

    def __init__(self, attention: SourceAttention, memory: Memory) -> None:
        self._query, self._output, self._num_heads = attention.query, attention.output, attention.num_heads
        keys, values = attention.project_source(memory.states)  # (B, H, S, d), views of one product
        self._keys = (keys * keys.shape[-1] ** -0.5).transpose(2, 3).contiguous()  # (B, H, d, S)
        self._values = values.contiguous()
        self._mask = memory.mask

    def attend(self, x: Tensor, weights: list[Tensor] | None) -> Tensor:
        """x: (B, K, D) -> (B, K, D). If `weights` is a list, attention summed over heads is appended: (B, K, S)."""
        queries = split_heads(self._query(x), self._num_heads)  # (B, H, K, d)
        energies = multiply_heads(queries, self._keys)  # (B, H, K, S)
        attention = torch.softmax(energies if self._mask is None else energies.add_(self._mask), dim=-1)
        if weights is not None:
            weights.append(attention.sum(dim=1))
        attended: Tensor = self._output(join_heads(multiply_heads(attention, self._values)))
        return attended

    def keep(self, sentences: Tensor) -> None:
        self._keys, self._values = self._keys[sentences], self._values[sentences]
        self._mask = None if self._mask is None else self._mask[sentences]


class FoldedSource:
    """Keys and values with the layer's own matrices multiplied in."""

    def __init__(self, attention: SourceAttention, memory: Memory) -> None:
        keys, values = attention.project_source(memory.states)  # (B, H, S, d)
        num_sentences, num_heads, _, head_width = keys.shape
        query_weight = attention.query.weight.view(num_heads, head_width, -1)  # (H, d, D)
        query_bias = attention.query.bias.view(num_heads, head_width, 1)
        output_weight = attention.output.weight.view(-1, num_heads, head_width).permute(1, 2, 0)  # (H, d, D)
        scaled_keys = keys * head_width**-0.5
        offsets = (scaled_keys @ query_bias).transpose(2, 3)  # (B, H, 1, S)
        if memory.mask is not None:
            offsets = offsets + memory.mask
        self._num_heads = num_heads
        self._keys = (scaled_keys @ query_weight).flatten(1, 2).transpose(1, 2).contiguous()  # (B, D, H * S)
        self._offsets = offsets.reshape(num_sentences, 1, -1)  # (B, 1, H * S)
        self._values = (values @ output_weight).flatten(1, 2)  # (B, H * S, D)
        self._bias = attention.output.bias

    def attend(self, x: Tensor, weights: list[Tensor] | None) -> Tensor:
        """See `PlainSource`."""
        energies = torch.baddbmm(self._offsets, x, self._keys)  # (B, K, H * S)
        attention = torch.softmax(energies.view(*x.shape[:2], self._num_heads, -1), dim=-1)
        if weights is not None:
            weights.append(attention.sum(dim=2))
        return torch.baddbmm(self._bias, attention.flatten(2), self._values)

    def keep(self, sentences: Tensor) -> None:
        self._keys, self._offsets = self._keys[sentences], self._offsets[sentences]
        self._values = self._values[sentences]


def read_source(attention: SourceAttention, memory: Memory) -> PlainSource | FoldedSource:
    """Whichever is quicker for these sentences."""
    num_sentences, length, width = memory.states.shape
    has_few_products = attention.num_heads * length <= width + length
    return (FoldedSource if num_sentences <= FEW_SENTENCES and has_few_products else PlainSource)(attention, memory)
