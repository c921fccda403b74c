"""Translate a text with torch and with ONNX Runtime in float32, and count what differs.

    python benchmarks/translation_engines.py --input dev.en
    python benchmarks/translation_engines.py --input dev.en --every 5 --num-best 5
    python benchmarks/translation_engines.py --input dev.en --every 5 --dictionary terms.tsv --mode require
    python benchmarks/translation_engines.py --input dev.en --every 5 --target dev.ro --prefix-words 2
    python benchmarks/translation_engines.py --input dev.en --num-best 5 --scores-only

Torch is the search's reference (`models/reference.py`), which computes the whole decoder anew for every row; only what
the encoders give is kept. Texts, positions and scores are compared, of all n best. Where they differ, both scores are
printed: two that are equal but for rounding are a tie, and either may win it.

A line takes torch a second or so. With --scores-only it searches nothing and scores what ONNX Runtime has found, all
pieces of a hypothesis at once as in training: each log-probability of a piece and of a position is compared.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from torch import Tensor, nn

from alidade.io import read_lines
from alidade.models.batch import Batch
from alidade.models.jumps import jumps_to_positions
from alidade.models.reference import ReferenceSystem
from alidade.models.system import System, load_system
from alidade.search.batches import batches_by_length
from alidade.search.beam import BeamSearch
from alidade.search.hypotheses import Hypothesis, Request
from alidade.text.vocabulary import BOS, EOS
from alidade.translation import Translation
from alidade.translator import Mode, Translator

CHUNK = 64
"""Lines that are translated before something is printed."""


class OnceEncoder(nn.Module):
    """An encoder that reads each sentence of a batch once, although the reference has it in each of its rows."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self._encoder = encoder
        self._sources: Tensor | None = None

    def forward(self, source: Tensor) -> Any:
        if self._sources is None or self._sources.shape[1] != source.shape[1]:
            self._sources = source[:0]
        places = self._find(source)
        if (places < 0).any():
            self._sources = torch.unique(source, dim=0)
            self._memory = self._encoder(self._sources)
            places = self._find(source)
        mask = self._memory.mask
        return dataclasses.replace(
            self._memory,
            states=self._memory.states[places],
            mask=None if mask is None else mask[places],
            lengths=self._memory.lengths[places],
        )

    def _find(self, source: Tensor) -> Tensor:
        """(R,) the place of each row's sentence among those that have been read, -1 if it has not."""
        assert self._sources is not None
        if not len(self._sources):
            return torch.full((len(source),), -1)
        is_it = (source[:, None] == self._sources[None]).all(dim=2)
        return torch.where(is_it.any(dim=1), is_it.int().argmax(dim=1), -1)


class TorchTranslator(Translator):
    """A translator whose models are those that are trained."""

    def use(self, system: ReferenceSystem) -> TorchTranslator:
        self._reference = system
        return self

    @property
    def system(self) -> Any:
        return self._reference


def make_reference(translator: Translator, *, has_attention: bool) -> ReferenceSystem:
    """has_attention: dictionaries ask for it; without one nobody does, and it would take half of the time."""
    torch.set_num_threads(1)
    system = load_system(translator.model)
    for model in (system.lexical, system.alignment):
        encoder = getattr(model, "encoder", None)
        if model is not None and isinstance(encoder, nn.Module):
            model.encoder = OnceEncoder(encoder)
    reference = ReferenceSystem(system)
    if not has_attention and reference.lexical.is_assisted:
        no_attention = lambda batch: torch.zeros(*batch.target_in.shape, batch.source.shape[1])  # noqa: E731
        setattr(reference.lexical.model, "attention", no_attention)  # noqa: B010  # a module's attributes have types
    return reference


def main(
    source: Annotated[Path, typer.Option("--input", help="Sentences to translate, one a line.")],
    system: Annotated[Path | None, typer.Option(help="A system; the shipped one if left out.")] = None,
    every: Annotated[int, typer.Option(help="Take every so-many-th line.")] = 1,
    first: Annotated[int, typer.Option(help="Begin with this line, counted from 0.")] = 0,
    num_best: int = 1,
    dictionary: Annotated[Path | None, typer.Option(help="Wanted translations.")] = None,
    mode: str = "suggest",
    target: Annotated[Path | None, typer.Option(help="Translations whose first words are given.")] = None,
    prefix_words: int = 2,
    scores_only: Annotated[bool, typer.Option("--scores-only", help="Let torch score what was found.")] = False,
) -> None:
    """Translate with both and print what differs."""
    engine = Translator(system, precision="float32")
    if scores_only:
        compare_scores(engine, list(read_lines(source))[first::every], num_best)
        return
    reference = TorchTranslator(system, precision="float32").use(
        make_reference(engine, has_attention=dictionary is not None)
    )
    lines = list(read_lines(source))[first::every]
    prefixes = [""] * len(lines)
    if target is not None:
        prefixes = [" ".join(line.split()[:prefix_words]) for line in list(read_lines(target))[first::every]]
    num_different, largest, seconds = 0, 0.0, [0.0, 0.0]
    for start in range(0, len(lines), CHUNK):
        part = slice(start, start + CHUNK)
        found: list[list[Translation]] = []
        for number, translator in enumerate((engine, reference)):
            began = time.process_time()
            found.append(
                translator.translate_all(
                    lines[part],
                    prefixes=prefixes[part],
                    dictionary=dictionary,
                    mode=_mode(mode),
                    num_best=num_best,
                    with_links=False,
                )
            )
            seconds[number] += time.process_time() - began
        for line, mine, theirs in zip(lines[part], *found, strict=True):
            difference = compare(line, [mine, *mine.alternatives], [theirs, *theirs.alternatives])
            num_different += difference is None
            largest = max(largest, difference or 0.0)
        done = min(start + CHUNK, len(lines))
        print(
            f"{done} lines: {num_different} differ; scores of the others by {largest:.1e} at the most; "
            f"{seconds[0]:.0f} s ONNX Runtime, {seconds[1]:.0f} s torch",
            flush=True,
        )


def compare_scores(engine: Translator, lines: Sequence[str], num_best: int) -> None:
    """The log-probabilities of what the search finds, one by one, against those of a forward pass of torch."""
    torch.set_num_threads(1)
    system = load_system(engine.model)
    search = BeamSearch(engine.system, engine.settings)
    sources = [source for source in map(engine.model.source_subwords.encode, lines) if len(source)]
    num_hypotheses, largest = 0, 0.0
    for batch in batches_by_length([len(source) for source in sources], engine.batch_size):
        results = search.search([Request(sources[number].ids) for number in batch], num_best=num_best)
        for number, result in zip(batch, results, strict=True):
            for hypothesis in result.hypotheses:
                if hypothesis.is_complete:
                    found = [hypothesis.lexical_logp, hypothesis.alignment_logp]
                    expected = torch_logp(system, sources[number].ids, hypothesis)
                    largest = max(
                        largest, *[float(abs(np.array(a) - b).max()) for a, b in zip(found, expected, strict=False)]
                    )
                    num_hypotheses += 1
        print(f"{num_hypotheses} hypotheses: log-probabilities differ by {largest:.1e} at the most", flush=True)


@torch.inference_mode()
def torch_logp(system: System, source: Sequence[int], hypothesis: Hypothesis) -> list[Any]:
    """(T,) log p_lex and, in an assisted system, log p_align of a hypothesis's pieces and of its `</s>`."""
    positions = torch.tensor([[*hypothesis.positions, len(source) + 1]])
    target = torch.tensor([[*hypothesis.pieces, EOS]])
    batch = Batch(
        source=torch.tensor([[BOS, *source, EOS]]),
        target_in=torch.tensor([[BOS, *hypothesis.pieces]]),
        target_out=target,
        positions=positions if system.alignment is not None else torch.zeros_like(target),
        previous_positions=nn.functional.pad(positions[:, :-1], (1, 0)),
        num_target_tokens=target.numel(),
    )
    features: Any = system(batch)
    lexical = torch.log_softmax(system.lexical.output(features["lexical"]), dim=-1)  # type: ignore[union-attr, operator]
    found = [lexical.gather(1, target.T)[:, 0].numpy()]
    if system.alignment is not None:
        logits = system.alignment.output(features["alignment"])[None]  # type: ignore[operator]
        lengths = torch.tensor([len(source) + 2])
        logp = jumps_to_positions(logits, batch.previous_positions, lengths, len(source) + 2)
        found.append(logp[0].gather(1, positions.T)[:, 0].numpy())
    return found


def _mode(mode: str) -> Mode:
    return "require" if mode == "require" else "suggest"


def compare(line: str, mine: Sequence[Translation], theirs: Sequence[Translation]) -> float | None:
    """The largest difference of scores, or None if texts or positions differ, which is printed."""
    if [(one.text, one.positions) for one in mine] == [(one.text, one.positions) for one in theirs]:
        return max(abs(one.score - other.score) for one, other in zip(mine, theirs, strict=True))
    print(f"  {line}")
    for one, other in zip(mine, theirs, strict=False):
        if (one.text, one.positions) != (other.text, other.positions):
            print(
                f"    {one.score:.6f} {one.text} {one.positions}\n    {other.score:.6f} {other.text} {other.positions}"
            )
    return None


if __name__ == "__main__":
    typer.run(main)
