"""Attention to the source in a step of the search: folded tables give what keys and values give."""

from __future__ import annotations

import pytest
import torch
from alidade.models.source import FoldedSource, PlainSource, read_source

from alidade.models.layers import Memory, SourceAttention


def make_memory(num_sentences: int, length: int, *, has_padding: bool) -> Memory:
    mask = None
    if has_padding:
        mask = torch.zeros(num_sentences, 1, 1, length)
        mask[0, ..., -2:] = -torch.inf
    return Memory(torch.randn(num_sentences, length, 16), mask, torch.full((num_sentences,), length))


@pytest.mark.parametrize("has_padding", [False, True])
@torch.inference_mode()
def test_folded_is_plain(has_padding: bool) -> None:
    torch.manual_seed(0)
    attention = SourceAttention(16, 4, 0.0).eval()
    memory = make_memory(3, 5, has_padding=has_padding)
    x = torch.randn(3, 2, 16)
    plain, folded = PlainSource(attention, memory), FoldedSource(attention, memory)
    check_same(plain, folded, x)
    kept = torch.tensor([0, 2])
    plain.keep(kept)
    folded.keep(kept)
    check_same(plain, folded, x[kept])


def check_same(plain: PlainSource, folded: FoldedSource, x: torch.Tensor) -> None:
    plain_weights: list[torch.Tensor] = []
    folded_weights: list[torch.Tensor] = []
    expected = plain.attend(x, plain_weights)
    torch.testing.assert_close(folded.attend(x, folded_weights), expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(folded_weights, plain_weights, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(plain.attend(x, None), expected, atol=1e-5, rtol=1e-4)


def test_few_short_sentences_are_folded() -> None:
    attention = SourceAttention(16, 4, 0.0)
    assert isinstance(read_source(attention, make_memory(1, 5, has_padding=False)), FoldedSource)
    assert isinstance(read_source(attention, make_memory(1, 50, has_padding=False)), PlainSource)
    assert isinstance(read_source(attention, make_memory(20, 5, has_padding=False)), PlainSource)
