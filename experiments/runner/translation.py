"""A row of the table of translations: test sets translated and scored, and compared with the baseline's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alidade.cli.translate import translate
from alidade.evaluation.metrics import compare_translations, corpus_bleu, score_translations
from alidade.io import aside_name, hash_file, read_lines
from alidade.model_folder import SEARCH_FILE
from runner.results import TRANSLATING, fingerprints
from runner.settings import TaskSettings, TranslationRow
from runner.systems import ReadySystem, Workshop, make_system


@dataclass(frozen=True)
class Translated:
    """A set's translations by one system."""

    path: Path
    fingerprint: str
    seconds: float


def measure_translation(shop: Workshop, name: str, row: TranslationRow) -> dict[str, Any]:
    """All figures of a row."""
    task = shop.library.task(row.task)
    system = make_system(shop, name, row)
    baseline = None
    if row.baseline is not None:
        baseline = make_system(shop, row.baseline, shop.library.translation_row(row.baseline))
    tests = {test: _measure_test(shop, task, system, baseline, test) for test in task.tests}
    size = sum(path.stat().st_size for path in system.folder.iterdir())
    lengths = [sum(1 for _ in read_lines(task.files(name)[0])) for name in ([] if row.model else task.tuning_sets)]
    return {
        "training": system.figures,
        **({"tuned_on": sum(min(shop.tune_sentences, length) for length in lengths)} if lengths else {}),
        "megabytes": round(size / 1e6, 1),
        **({} if row.baseline is None else {"baseline": row.baseline}),
        "tests": tests,
    }


def _measure_test(
    shop: Workshop, task: TaskSettings, system: ReadySystem, baseline: ReadySystem | None, test: str
) -> dict[str, Any]:
    translated = translate_set(shop, task, system, test)
    other = None if baseline is None else translate_set(shop, task, baseline, test)
    reference = task.files(test)[1]

    def work() -> dict[str, Any]:
        hypotheses, references = (list(read_lines(path)) for path in (translated.path, reference))
        scores = score_translations(hypotheses, [references], lower_case=True)
        figures: dict[str, Any] = {score.name: {"value": score.value, "signature": score.signature} for score in scores}
        if task.moses:
            figures["published BLEU"] = _published_bleu(hypotheses, references, task.target)
        if other is not None:
            figures["p"] = {
                comparison.metric: comparison.p_value
                for comparison in compare_translations(
                    list(read_lines(other.path)), hypotheses, [references], lower_case=True
                )
            }
        return figures

    inputs = [translated.fingerprint, other and other.fingerprint, hash_file(reference), task.moses]
    scored = shop.stages(system.work / "stages").run(f"score-{test}", inputs, [], work)
    return {"seconds": translated.seconds, **scored.report}


def translate_set(shop: Workshop, task: TaskSettings, system: ReadySystem, name: str) -> Translated:
    """A test or dev set's translations by a tuned system."""
    source, _ = task.files(name)
    output = system.work / f"{name}.{task.target}"

    def work() -> dict[str, Any]:
        # The command writes as it goes; a file that has its name is complete.
        translate(
            model=system.folder,
            inputs=[source],
            output_file=aside_name(output),
            workers=shop.workers,
            protect=False,  # the model as it is, a sentence a line
        )
        aside_name(output).replace(output)
        return {}

    inputs = [system.fingerprint, hash_file(system.folder / SEARCH_FILE), hash_file(source), fingerprints(TRANSLATING)]
    done = shop.stages(system.work / "stages").run(f"translate-{name}", inputs, [output], work)
    return Translated(output, done.fingerprint, done.seconds)


def _published_bleu(hypotheses: list[str], references: list[str], language: str) -> dict[str, Any]:
    """BLEU of lower-cased text, tokenised as Moses does it: how Multi30k's published figures were computed."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    normaliser, tokeniser = MosesPunctNormalizer(language), MosesTokenizer(language)

    def tokenise(text: str) -> str:
        tokens: str = tokeniser.tokenize(normaliser.normalize(text.lower()), return_str=True, escape=False)
        return tokens

    score = corpus_bleu([*map(tokenise, hypotheses)], [*map(tokenise, references)], tokenisation="none")
    return {"value": score.value, "signature": f"Moses, lower case | {score.signature}"}
