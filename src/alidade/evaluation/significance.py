"""Is one system better than another? Paired bootstrap (Koehn, 2004), as sacrebleu computes it.

Both systems are scored on the same 1,000 random samples of the test set's sentences. The p-value is the share of
samples in which a difference as large as the observed one appears by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.significance import PairedTest, Result

from alidade.evaluation.translations import Tokenisation, make_metrics, require_parallel

LEVEL = 0.05
"""Differences with a smaller p-value are called significant."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric's scores of a baseline and a system, and whether chance explains the difference."""

    metric: str
    baseline: float
    system: float
    baseline_interval: float
    """Half the width of the 95 % confidence interval."""
    system_interval: float
    p_value: float
    signature: str

    @property
    def difference(self) -> float:
        """System minus baseline; for TER a negative one is better."""
        return self.system - self.baseline

    @property
    def is_significant(self) -> bool:
        """Whether chance is an unlikely explanation."""
        return self.p_value < LEVEL

    def __str__(self) -> str:
        verdict = "significant" if self.is_significant else "not significant"
        return (
            f"{self.metric}: {self.baseline:.1f} ± {self.baseline_interval:.1f} → "
            f"{self.system:.1f} ± {self.system_interval:.1f} ({self.difference:+.1f}), "
            f"p = {self.p_value:.4f}, {verdict} at {LEVEL} | {self.signature}"
        )


def compare_translations(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    lower_case: bool = False,
    tokenisation: Tokenisation = "13a",
    num_samples: int = 1000,
) -> list[Comparison]:
    """Compare two systems' translations of one test set by BLEU, TER and chrF."""
    require_parallel(system, [baseline], "baseline")
    require_parallel(system, references)
    test = PairedTest(
        [("baseline", list(baseline)), ("system", list(system))],
        make_metrics(lower_case, tokenisation),
        [list(reference) for reference in references],
        test_type="bs",
        n_samples=num_samples,
    )
    signatures, results = test()
    return [_comparison(metric, results[metric], str(signature)) for metric, signature in signatures.items()]


def _comparison(metric: str, results: Sequence[str | Result], signature: str) -> Comparison:
    baseline, system = results
    assert isinstance(baseline, Result)
    assert isinstance(system, Result)
    assert baseline.ci is not None
    assert system.ci is not None
    assert system.p_value is not None
    # sacrebleu's smallest p-value goes to systems that are equal in every sample, which would read as a difference.
    p_value = 1.0 if baseline.score == system.score else float(system.p_value)
    return Comparison(metric, baseline.score, system.score, float(baseline.ci), float(system.ci), p_value, signature)
