"""How good translations are: BLEU, TER and chrF from sacrebleu, each with the signature that says how it was computed,
and whether one system is better than another.

The paper reports case-insensitive scores; `lower_case` gives those. Hypotheses and references are raw text, and the
metric tokenises them. Scores published for Multi30k were computed on text that was lower-cased, its punctuation
normalised, and tokenised with the Moses tokeniser before training. For raw output, the case-insensitive score with
the tokenisation "13a" is the comparable one: on the 2,014 German dev and test2016 references the two tokenisations
differ in 13 lines (abbreviations such as "ca.", apostrophes, German quotes). For output that is lower-cased and
tokenised already, give the tokenisation "none" and references in the same form.

Two systems are compared by paired bootstrap (Koehn, 2004), as sacrebleu computes it: both are scored on the same 1,000
random samples of the test set's sentences. The p-value is the share of samples in which a difference as large as the
observed one appears by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import regex

from alidade.errors import AlidadeError, require_package
from alidade.text.languages import is_chinese, is_written_without_spaces

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.significance import Result

Tokenisation = Literal["13a", "intl", "zh", "char", "none"]


@dataclass(frozen=True, slots=True)
class Score:
    """A number and how it was obtained."""

    name: str
    value: float
    """In per cent; for TER less is better."""
    printed: str
    """As sacrebleu prints it: BLEU with n-gram precisions and brevity penalty."""
    signature: str

    def __str__(self) -> str:
        return f"{self.printed} | {self.signature}"


def tokenisation_of_language(language: str) -> Tokenisation:
    """How BLEU finds the words of raw text in a language."""
    if is_chinese(language):
        return "zh"
    return "char" if is_written_without_spaces(language) else "13a"


def tokenisation_of_text(lines: Sequence[str]) -> Tokenisation:
    """The same, judged by the script of most letters."""
    text = "".join(lines)
    num_letters = len(_LETTER.findall(text))
    if 2 * len(_KANA_AND_OTHERS.findall(text)) > num_letters / 2 > 0:
        return "char"
    return "zh" if 2 * len(_HAN.findall(text)) > num_letters else "13a"


_LETTER = regex.compile(r"\p{L}")
_HAN = regex.compile(r"\p{Han}")
_KANA_AND_OTHERS = regex.compile(r"[\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


def score_translations(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    lower_case: bool = False,
    tokenisation: Tokenisation = "13a",
) -> list[Score]:
    """BLEU, TER and chrF of a corpus.

    references: one or several translations of the whole corpus. lower_case: ignore case, as the paper does.
    """
    require_parallel(hypotheses, references)
    return [_score(metric, hypotheses, references) for metric in make_metrics(lower_case, tokenisation).values()]


def corpus_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    lower_case: bool = False,
    tokenisation: Tokenisation = "13a",
) -> Score:
    """BLEU alone, against one reference: what training watches."""
    require_parallel(hypotheses, [references])
    return _score(make_metrics(lower_case, tokenisation)["BLEU"], hypotheses, [references])


def make_metrics(lower_case: bool, tokenisation: Tokenisation) -> dict[str, Metric]:
    """The three metrics, set up in the same way for scores and for significance."""
    require_package("sacrebleu", "evaluate", "measuring BLEU, TER and chrF")
    # Imported here, so that commands can name `Tokenisation` and still start quickly.
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    is_chinese = tokenisation == "zh"
    return {
        # `force` silences a warning that text looks tokenised: with "none" it is meant to be.
        "BLEU": BLEU(lowercase=lower_case, tokenize=tokenisation, force=tokenisation == "none"),
        # tercom separates Chinese characters only when it normalises.
        "TER": TER(case_sensitive=not lower_case, asian_support=is_chinese, normalized=is_chinese),
        "chrF": CHRF(lowercase=lower_case),
    }


def require_parallel(hypotheses: Sequence[str], others: Sequence[Sequence[str]], name: str = "reference") -> None:
    """Raise unless there is something to score and every one of the others has a line for each hypothesis."""
    if not hypotheses:
        raise AlidadeError("there are no translations to score: the hypothesis is empty")
    for other in others:
        if len(other) != len(hypotheses):
            raise AlidadeError(
                f"the hypothesis has {len(hypotheses)} lines but the {name} has {len(other)}: "
                "they need as many, line n translating the same sentence in both"
            )


def _score(metric: Metric, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    score = metric.corpus_score(list(hypotheses), [list(reference) for reference in references])
    return Score(score.name, score.score, score.format(width=1), str(metric.get_signature()))


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
    require_package("sacrebleu", "evaluate", "measuring BLEU, TER and chrF")
    from sacrebleu.significance import PairedTest

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
    from sacrebleu.significance import Result

    baseline, system = results
    assert isinstance(baseline, Result)
    assert isinstance(system, Result)
    assert baseline.ci is not None
    assert system.ci is not None
    assert system.p_value is not None
    # sacrebleu's smallest p-value goes to systems that are equal in every sample, which would read as a difference.
    p_value = 1.0 if baseline.score == system.score else float(system.p_value)
    return Comparison(metric, baseline.score, system.score, float(baseline.ci), float(system.ci), p_value, signature)
