"""The rows of the other tables: dictionary, pruning, alignment error, pictures."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pruning
from alidade.alignment.links import Alignment, alignment_error_rate
from alidade.alignment.statistical import read_alignments, read_gold_alignments
from alidade.cli.align import align
from alidade.corpus.arrays import Layout
from alidade.corpus.links import align_like_corpus
from alidade.corpus.store import PreparedCorpus
from alidade.dictionary.entries import Dictionary
from alidade.dictionary.files import load_dictionary, write_entries
from alidade.dictionary.simulation import ReferencePair, simulate_dictionary
from alidade.evaluation.plots import panel_of, plot_attention
from alidade.evaluation.terms import evaluate_terms
from alidade.io import hash_file, read_lines
from alidade.model_folder import WEIGHTS_FILE
from alidade.text.normalise import normalise_as_set
from alidade.translator import Translator
from runner.report import picture_name
from runner.results import ALIGNING, TRANSLATING, WITH_TERMS, fingerprints
from runner.settings import AlignmentRow, DictionaryRow, PictureRow, PruningRow, TaskSettings
from runner.systems import MissingCellError, ReadySystem, Workshop, make_system
from runner.translation import translate_set


def measure_dictionary(shop: Workshop, name: str, row: DictionaryRow) -> dict[str, Any]:
    """Systems without a dictionary, with its suggestions, and with all its entries required (paper, table 3)."""
    rows = {system: shop.library.translation_row(system) for system in row.systems}
    task = shop.library.task(rows[row.systems[0]].task)
    systems = {system: make_system(shop, system, settings) for system, settings in rows.items()}
    work = task.runs / "systems" / name.replace("/", "-")
    lacking = list(systems.values()) if row.lacked_by == "all" else [systems[row.systems[0]]]
    dictionary, simulated = _simulate(shop, task, lacking, task.runs / row.corpus, work)
    measured = {
        system: shop.stages(work / "stages").run(
            system.replace("/", "-"),
            [simulated, ready.fingerprint, fingerprints(WITH_TERMS)],
            [],
            functools.partial(_measure_terms, task, ready, dictionary),
        )
        for system, ready in systems.items()
    }
    return {"dictionary": simulated, "systems": {system: result.report for system, result in measured.items()}}


def _simulate(
    shop: Workshop, task: TaskSettings, systems: list[ReadySystem], folder: Path, work: Path
) -> tuple[Dictionary, dict[str, Any]]:
    """The paper's simulated dictionary (section 7) of what all these systems lack, and what is to be said of it."""
    translated = [translate_set(shop, task, system, task.dev) for system in systems]
    files = task.files(task.dev)
    path = work / "dictionary.tsv"

    def simulate() -> dict[str, Any]:
        if not (folder / "corpus.json").exists():
            raise MissingCellError("the corpus is not prepared")
        corpus = PreparedCorpus.open(folder)
        normalise = functools.partial(normalise_as_set, settings=corpus.normalisation)
        targets = (files[1], *(one.path for one in translated))
        sources = [normalise(line, task.source) for line in read_lines(files[0])]
        references, *translations = ([normalise(line, task.target) for line in read_lines(file)] for file in targets)
        alignments = align_like_corpus(corpus, list(zip(sources, references, strict=True)))
        written = map(" ".join, zip(*translations, strict=True))  # a word that any system has written is not lacking
        pairs = map(ReferencePair, sources, references, alignments, written)
        simulated = simulate_dictionary(pairs, task.source, task.target)
        write_entries(path, simulated.entries)
        return {
            "entries": len(simulated.entries),
            "coverage": simulated.coverage,
            "reference_words": simulated.num_reference_words,
        }

    inputs = [*(one.fingerprint for one in translated), *map(hash_file, files)]
    report = shop.stages(work / "stages").run("simulate", inputs, [path], simulate).report
    return load_dictionary([path]), report


def _measure_terms(task: TaskSettings, system: ReadySystem, dictionary: Dictionary) -> dict[str, Any]:
    sources, references = (list(read_lines(path)) for path in task.files(task.dev))
    runs = evaluate_terms(Translator(system.folder), sources, references, dictionary)
    return {
        run.mode or "none": {
            **{score.name: score.value for score in run.scores},
            "used": run.terms.share(run.terms.used),
            "placed": run.terms.share(run.terms.placed),
            "repeated": run.terms.share(run.terms.repeated),
            "length_ratio": run.terms.length_ratio,
            "sentences_per_second": run.sentences_per_second,
        }
        for run in runs
    }


def measure_pruning(shop: Workshop, name: str, row: PruningRow) -> dict[str, Any]:
    """Speed-up and BLEU of every way to prune (paper, figure 4), and the plot."""
    settings = shop.library.translation_row(row.system)
    task = shop.library.task(settings.task)
    system = make_system(shop, row.system, settings)
    source, target = task.files(task.dev)
    picture = shop.pictures / picture_name(name)

    def work() -> dict[str, Any]:
        sources, references = (list(read_lines(path))[: row.sentences] for path in (source, target))
        points = pruning.make_points(system.folder)
        for _ in range(row.repeats):
            for point in points:
                point.run(sources)
        picture.parent.mkdir(parents=True, exist_ok=True)
        pruning.draw(points, references, picture)
        return {"points": [_describe_point(point, points[0], references) for point in points]}

    inputs = [system.fingerprint, row.sentences, row.repeats, fingerprints(TRANSLATING)]
    report = shop.stages(system.work / "stages").run("pruning", inputs, [picture], work).report
    return {**report, "sentences": row.sentences, "repeats": row.repeats}


def _describe_point(point: pruning.Point, none: pruning.Point, references: list[str]) -> dict[str, Any]:
    same = [one == other for one, other in zip(point.texts, none.texts, strict=True)]
    return {
        "pruning": point.pruning,
        "value": point.value,
        "speed_up": pruning.speed_up(point, none),
        "evaluations": point.evaluations_a_token,
        "BLEU": pruning.bleu(point, references),
        "same": sum(same) / len(same),
    }


def measure_alignment(shop: Workshop, name: str, row: AlignmentRow) -> dict[str, Any]:
    """Precision, recall and alignment error rate of links against a gold set."""
    gold = list(read_gold_alignments(row.data / "gold-alignments" / f"{row.gold}.gold", one_based=True))
    links = _aligner_links(shop, row) if row.unit is not None else _system_links(shop, name, row)
    rate = alignment_error_rate(links, gold)
    return {"error_rate": 100 * rate.error_rate, "precision": 100 * rate.precision, "recall": 100 * rate.recall}


def _aligner_links(shop: Workshop, row: AlignmentRow) -> list[Alignment]:
    """The statistical aligner's, made by `alignment/aligner_units.py` if they are not there."""
    more = [f"-{Path(bitext).parent.name}" for bitext in row.also]
    folder = row.runs / f"{row.gold}-{'words' if row.unit == 'words' else 'pieces-8000'}{''.join(more)}"
    links = folder / "grow-diag-final-and.links"
    if not links.exists():
        if not shop.may_train:
            raise MissingCellError("the bitext is not aligned in this way")
        script = shop.library.folder / "alignment" / "aligner_units.py"
        arguments = [str(row.data), str(row.runs), "--gold", row.gold, "--unit", str(row.unit)]
        arguments += ["--also", *row.also] if row.also else []
        subprocess.run([sys.executable, str(script), *arguments], check=True)
    return list(read_alignments(links))


def _system_links(shop: Workshop, name: str, row: AlignmentRow) -> list[Alignment]:
    """A trained system's forced alignment of the gold pairs, whose words stand between spaces."""
    assert row.model is not None
    models = [model for model in (row.model, row.reverse_model) if model is not None]
    for model in models:
        if not (model / WEIGHTS_FILE).is_file():
            where = model.resolve().relative_to(row.runs.resolve().parent)
            raise MissingCellError(f"`{where}` is not trained")
    for corpus in row.corpora:
        if not (corpus / "corpus.json").is_file():
            raise MissingCellError(f"the corpus `{corpus.name}` is not prepared")
    one, other = (row.data / "gold-alignments" / f"{row.gold}.{language}" for language in (row.gold[:2], row.gold[2:]))
    source, target = (other, one) if row.is_transposed else (one, other)
    output = row.runs / "systems" / f"{name.split('/')[1]}.links"

    def work() -> dict[str, Any]:
        align(
            source=source,
            target=target,
            model=row.model,
            output=output,
            reverse_model=row.reverse_model,
            corpora=list(row.corpora),
            is_tokenised=True,
            workers=shop.workers,
        )
        return {}

    stamps = [[hash_file(model / WEIGHTS_FILE) for model in models], fingerprints(ALIGNING)]
    stamps += [[hash_file(Layout(corpus).priors) for corpus in row.corpora]] if row.corpora else []
    shop.stages(row.runs / "stages").run(name.replace("/", "-"), stamps, [output], work)
    links = read_alignments(output)
    return [alignment.transposed() for alignment in links] if row.is_transposed else list(links)


def draw_picture(shop: Workshop, name: str, row: PictureRow) -> dict[str, Any]:
    """The paper's figure 1 for a sentence in which the baseline's attention misses the word that has an entry."""
    ready = [make_system(shop, one, shop.library.translation_row(one)) for one in (row.baseline, row.system)]
    picture = shop.pictures / picture_name(name)

    def work() -> dict[str, Any]:
        baseline, system = (Translator(one.folder) for one in ready)
        for sentence, term in row.candidates:
            dictionary = load_dictionary((), [term])
            missed, used = (one.translate(sentence, dictionary=dictionary, protect=False) for one in (baseline, system))
            if missed.unused and used.uses:
                break
        else:
            raise MissingCellError("the baseline used the entry in every candidate, or the system did in none")
        panels = [
            panel_of(baseline, missed, "transformer"),
            panel_of(system, system.translate(sentence, protect=False), "assisted"),
            panel_of(system, used, "assisted, dictionary"),
        ]
        picture.parent.mkdir(parents=True, exist_ok=True)
        plot_attention(panels, picture)
        return {"sentence": sentence, "term": term, "baseline": missed.text, "assisted": used.text}

    inputs = [[one.fingerprint for one in ready], row.model_dump(mode="json"), fingerprints(TRANSLATING)]
    return shop.stages(ready[1].work / "stages").run("draw", inputs, [picture], work).report
