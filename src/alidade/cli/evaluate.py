"""`alidade evaluate`: how good alignments and translations are, and what a dictionary does to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from alidade.cli.options import (
    BatchSizeOption,
    Group,
    InflectOption,
    ModelOption,
    SearchSetOption,
    ThreadsOption,
    search_changes,
)
from alidade.evaluation.metrics import Tokenisation

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Measure alignments, translations and dictionaries against references.",
)


@app.command()
def alignments(
    hypothesis: Annotated[
        Path,
        typer.Option("--hypothesis", "-y", help="Links to judge: a Pharaoh file, `0-0 1-2 …` a line."),
    ],
    gold: Annotated[
        Path,
        typer.Option("--gold", "-g", help="Hand-made links: sure ones `2-3`, possible ones `2p3`."),
    ],
    one_based: Annotated[bool, typer.Option("--one-based", help="The hypothesis counts words from 1.")] = False,
    one_based_gold: Annotated[
        bool, typer.Option("--one-based-gold", help="The gold file counts words from 1.")
    ] = False,
    transpose: Annotated[
        bool,
        typer.Option("--transpose", help="The hypothesis has target-source links: exchange its sides."),
    ] = False,
) -> None:
    """Precision, recall and alignment error rate against gold links.

    Prints one line: the error rate and what it was counted on.

    Example: `alidade evaluate alignments --hypothesis out.links --gold deen.gold --one-based-gold`
    """
    from alidade.alignment.links import alignment_error_rate
    from alidade.alignment.statistical import read_alignments, read_gold_alignments

    links = read_alignments(hypothesis, one_based=one_based)
    if transpose:
        links = (alignment.transposed() for alignment in links)
    typer.echo(alignment_error_rate(links, read_gold_alignments(gold, one_based=one_based_gold)))


@app.command()
def translations(
    hypothesis: Annotated[Path, typer.Option("--hypothesis", "-y", help="Translations to judge, a sentence a line.")],
    reference: Annotated[
        list[Path],
        typer.Option("--reference", "-r", help="Right translations, line by line; may be given repeatedly."),
    ],
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", "-b", help="Another system's translations to compare with."),
    ] = None,
    tokenisation: Annotated[
        Tokenisation | None,
        typer.Option(
            help="How BLEU finds words: 13a for raw text, zh for Chinese, none for text tokenised already.",
            show_default="13a, or what the script of the references wants",
        ),
    ] = None,
    samples: Annotated[int, typer.Option("--samples", min=1, help="Bootstrap samples of the comparison.")] = 1000,
) -> None:
    """BLEU, TER and chrF, case-insensitive (as in the paper) and case-sensitive, with sacrebleu's signatures.

    With `--baseline` both systems' scores, and whether their difference is significant, by paired bootstrap.

    Published Multi30k scores are of lower-cased, tokenised text. For raw output compare the case-insensitive BLEU with
    them; for output that is lower-cased and tokenised already use `--tokenisation none` and a reference in that form.

    Example: `alidade evaluate translations --hypothesis out.de --reference test2016.de --baseline base.de`
    """
    from alidade.evaluation.metrics import compare_translations, score_translations, tokenisation_of_text
    from alidade.io import read_lines

    hypotheses = list(read_lines(hypothesis))
    references = [list(read_lines(path)) for path in reference]
    tokenisation = tokenisation or tokenisation_of_text(references[0])
    baseline_hypotheses = None if baseline is None else list(read_lines(baseline))
    for lower_case in (True, False):
        how = "case-insensitive" if lower_case else "case-sensitive"
        if baseline_hypotheses is None:
            scores = score_translations(hypotheses, references, lower_case=lower_case, tokenisation=tokenisation)
            _print_block(f"{hypothesis}, {how}:", scores)
            continue
        comparisons = compare_translations(
            baseline_hypotheses,
            hypotheses,
            references,
            lower_case=lower_case,
            tokenisation=tokenisation,
            num_samples=samples,
        )
        _print_block(f"{baseline} → {hypothesis}, {how}:", comparisons)


@app.command()
def terms(
    source: Annotated[Path, typer.Option("--source", "-s", help="Sentences to translate, one a line.")],
    reference: Annotated[Path, typer.Option("--reference", "-r", help="Right translations, line by line.")],
    dictionaries: Annotated[
        list[Path],
        typer.Option("--dictionary", "-d", help="Wanted translations: a TSV, CSV or TBX file."),
    ],
    inflect: InflectOption = False,
    model: ModelOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A folder for the translations, a file for each way."),
    ] = None,
    tokenisation: Annotated[
        Tokenisation | None,
        typer.Option(
            help="How BLEU finds words: 13a for raw text, zh for Chinese.", show_default="as the target language wants"
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="Translate so many times; the median time counts.")
    ] = 1,
    batch_size: BatchSizeOption = 32,
    threads: ThreadsOption = None,
    overrides: SearchSetOption = None,
) -> None:
    """What a dictionary does: translate without it, with its suggestions, and with all its entries required.

    Prints a line for each way: how many entries were used (in exactly an allowed form; in any form of the same stem),
    placed (linked to their own source word) and repeated, BLEU, TER and chrF (case-insensitive, as in the paper), the
    length of the translations for each word of the references, and the speed.

    Example: `alidade evaluate terms --model run/model -s dev.en -r dev.de --dictionary simulated.tsv`
    """
    from rich.console import Console

    from alidade.dictionary.files import load_dictionary
    from alidade.evaluation.metrics import require_parallel
    from alidade.evaluation.terms import evaluate_terms, table_of_runs
    from alidade.io import read_lines, write_aside
    from alidade.translator import Translator

    translator = Translator(model, batch_size=batch_size, threads=threads, **search_changes(overrides))
    dictionary = load_dictionary(dictionaries, languages=translator.languages, inflect=inflect)
    sources, references = list(read_lines(source)), list(read_lines(reference))
    require_parallel(references, [sources], "source")
    runs = evaluate_terms(translator, sources, references, dictionary, tokenisation=tokenisation, repeats=repeats)
    Console().print(table_of_runs(runs))
    typer.echo(f"{runs[0].terms.wanted} matches of {len(dictionary)} entries in {len(sources)} sentences")
    typer.echo("\n".join([f"{score.name}: {score.signature}" for score in runs[0].scores]))
    if output is not None:
        for run in runs:
            with write_aside(output / f"{run.mode or 'plain'}.txt") as file:
                file.writelines([f"{translation.text}\n" for translation in run.translations])


def _print_block(title: str, results: Sequence[object]) -> None:
    typer.echo(title)
    for result in results:
        typer.echo(f"  {result}")
