"""Makes a wider transformer from a trained one, so that what the narrow one has learnt need not be learnt again.

    python experiments/enro/grow.py runs/enro/previous/model --width 256 --feed-forward 1024 \
        --lexical runs/enro/grown --alignment runs/enro/previous-jumps

The alignment model keeps its size; it is written into a folder of its own, since both are trained on by themselves.

After Net2Net (Chen, Goodfellow and Shlens 2016): some dimensions of the residual stream stand twice in the wider model,
and the norms that read them divide by how often they stand there, so that every layer reads what it read before. New
units of heads and feed-forward networks start with outgoing weights of zero. Two things change a little, and some
hundred updates mend them: the norms' means and variances, and the sinusoids, whose rates depend on the width (a
dimension goes where the wider model has the nearest rate).
"""

from __future__ import annotations

import argparse
import functools
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from alidade.config import TransformerSettings
from alidade.model_folder import load_model_folder, save_model_folder
from alidade.models.system import build_system, named_weights

Array = npt.NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a model folder whose lexical model is a transformer with pre-norms")
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--feed-forward", type=int, required=True)
    parser.add_argument("--lexical", type=Path, required=True, help="where the wider lexical model goes")
    parser.add_argument("--alignment", type=Path, required=True, help="where the alignment model goes")
    arguments = parser.parse_args()

    folder = load_model_folder(arguments.model)
    narrow = folder.description.lexical
    assert isinstance(narrow, TransformerSettings)
    assert narrow.pre_norm
    assert narrow.tied_embeddings == "all"
    wide = narrow.model_copy(update={"width": arguments.width, "feed_forward": arguments.feed_forward})
    torch.manual_seed(1)
    size = folder.description.source.size
    fresh = named_weights(build_system(wide, None, size, size))
    weights = Growth(narrow, wide).grow(folder.weights_of("lexical"), fresh)
    save = functools.partial(
        save_model_folder,
        source_subwords=folder.source_subwords,
        target_subwords=folder.target_subwords,
        search=folder.search,
        normalisation=folder.description.normalisation,
    )
    save(arguments.lexical, weights, wide, None)
    save(arguments.alignment, folder.weights_of("alignment"), None, folder.description.alignment)


class Growth:
    """Where the dimensions of a narrow transformer go in a wide one."""

    def __init__(self, narrow: TransformerSettings, wide: TransformerSettings) -> None:
        self.narrow, self.wide = narrow, wide
        half = np.minimum(np.rint(np.arange(wide.width // 2) * narrow.width / wide.width), narrow.width // 2 - 1)
        self.origin = np.concatenate([half, half + narrow.width // 2]).astype(np.int64)
        """For each dimension of the wide model's residual stream the narrow model's, (wide width,)."""
        self.copies = np.bincount(self.origin, minlength=narrow.width)[self.origin].astype(np.float32)
        self.embedding_scale = float(np.sqrt(narrow.width / wide.width))
        """Embeddings are multiplied by the root of the width."""

    def grow(self, weights: dict[str, Array], fresh: dict[str, Array]) -> dict[str, Array]:
        """All weights of the wide model; `fresh` has what it would start from."""
        return {name: self._grow(name, weights[name], fresh[name].copy()) for name in fresh}

    def _grow(self, name: str, weight: Array, fresh: Array) -> Array:
        kind = ".".join(name.split(".")[-2:])
        if kind.startswith("norm."):
            scale = self.embedding_scale if name.startswith("lexical.decoder.norm") else 1.0
            return weight[self.origin] / self.copies / np.float32(scale)
        if kind == "embedding.weight":
            return weight[:, self.origin] * np.float32(self.embedding_scale)
        if "attention.inputs" in name or "query" in name or "keys_values" in name:
            return self._grow_heads(name, weight, fresh)
        if name.startswith("lexical.output"):
            return weight
        if "expand" in name:
            fresh[: len(weight)] = weight[:, self.origin] if weight.ndim == 2 else weight
            return fresh
        if kind == "contract.weight":
            grown = np.zeros_like(fresh)
            grown[:, : weight.shape[1]] = weight[self.origin]
            return grown
        if kind == "output.weight":
            grown = np.zeros_like(fresh)
            grown.reshape(len(fresh), self.narrow.heads, -1)[..., : self._head_size] = weight[self.origin].reshape(
                len(fresh), self.narrow.heads, -1
            )
            return grown
        return weight[self.origin] if weight.ndim == 1 else weight[self.origin][:, self.origin]

    @property
    def _head_size(self) -> int:
        return self.narrow.width // self.narrow.heads

    def _grow_heads(self, name: str, weight: Array, fresh: Array) -> Array:
        """Queries, keys and values: each head's new units are drawn, but for the keys', which start at zero."""
        parts = {"inputs": "qkv", "query": "q", "keys_values": "kv"}[name.split(".")[-2]]
        heads, wide_head = self.narrow.heads, self.wide.width // self.narrow.heads
        old = weight.reshape(len(parts), heads, self._head_size, -1)
        new = fresh.reshape(len(parts), heads, wide_head, -1)
        for number, part in enumerate(parts):
            rows = old[number][..., self.origin] if weight.ndim == 2 else old[number]
            if part == "k":
                new[number] = 0
            # Energies are divided by the root of the head's size.
            new[number][:, : self._head_size] = rows * np.sqrt(wide_head / self._head_size) if part == "q" else rows
        return fresh


if __name__ == "__main__":
    main()
