"""`alidade dictionary`: look a dictionary over, convert it, extract one from a bitext, or simulate one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alidade.cli.options import Group, InflectOption, ModelOption

if TYPE_CHECKING:
    from alidade.alignment.links import Alignment
    from alidade.dictionary.extraction import LinkedTexts

_CHUNK = 512
"""Pairs aligned at a time."""

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Dictionaries of wanted translations: check, convert, extract, simulate.",
)

LanguagesOption = Annotated[
    str | None,
    typer.Option(
        "--languages", metavar="SOURCE-TARGET", help="For TBX files and without a corpus: for example `en-de`."
    ),
]


@app.command()
def check(
    dictionary: Annotated[list[Path], typer.Argument(help="TSV, CSV or TBX files.", show_default=False)],
    languages: LanguagesOption = None,
    source: Annotated[Path | None, typer.Option("--source", "-s", help="Sentences to look for entries in.")] = None,
    inflect: InflectOption = False,
) -> None:
    """Say how many entries a dictionary has and what is wrong with it.

    Entries given twice and entries that contradict each other are listed. With `--source`, says in how many of its
    sentences how many entries occur (words as in `--languages`, or separated by spaces).

    Example: `alidade dictionary check terms.tsv --source test.en --languages en-de`
    """
    from alidade.dictionary.files import load_dictionary
    from alidade.dictionary.matching import find_occurrences
    from alidade.io import read_lines
    from alidade.text.words import TOKENISED, split_words

    pair = None if languages is None else _parse_languages(languages)
    loaded = load_dictionary(dictionary, languages=pair, inflect=inflect)
    for complaint in (*loaded.complaints, *loaded.duplicates):
        typer.echo(complaint)
    typer.echo(f"{len(loaded)} entries")
    if source is not None:
        language = TOKENISED if pair is None else pair[0]
        counts = [
            len(find_occurrences(loaded, line, split_words(line, language), number))
            for number, line in enumerate(read_lines(source), start=1)
        ]
        typer.echo(f"{sum(counts)} matches in {sum(map(bool, counts))} of {len(counts)} sentences")


@app.command()
def convert(
    dictionary: Annotated[list[Path], typer.Argument(help="TSV, CSV or TBX files.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .tsv, .csv or .tbx.")],
    languages: LanguagesOption = None,
    inflect: InflectOption = False,
    sentence_terms: Annotated[
        bool,
        typer.Option(
            "--sentence-terms",
            help="The files list terms of single sentences: running number, line from 1, source, target, further pairs "
            "(Dinu et al. 2019).",
        ),
    ] = False,
) -> None:
    """Write dictionaries of any format as one TSV or CSV file with all columns, or as a TBX file.

    With `--inflect`, all entries are marked as inflecting.

    Example: `alidade dictionary convert terms.tbx --languages en-de --output terms.tsv`
    """
    from itertools import chain

    from alidade.dictionary.entries import Dictionary
    from alidade.dictionary.files import load_dictionary, read_sentence_terms, write_entries

    pair = None if languages is None else _parse_languages(languages)
    if sentence_terms:
        loaded = Dictionary(chain.from_iterable(map(read_sentence_terms, dictionary)))
    else:
        loaded = load_dictionary(dictionary, languages=pair, inflect=inflect)
    for complaint in loaded.complaints:
        typer.echo(complaint, err=True)
    typer.echo(f"{write_entries(output, loaded.entries, languages=pair)} entries written to {output}")


@app.command()
def extract(
    source: Annotated[Path, typer.Option("--source", "-s", help="The source side of a bitext, a sentence a line.")],
    target: Annotated[Path, typer.Option("--target", "-t", help="The target side, line by line.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The TSV file to write.")],
    model: ModelOption = None,
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", help="Align with what `alidade prepare` learned in this folder, not with a model."),
    ] = None,
    links: Annotated[
        Path | None, typer.Option("--links", help="Or take the links from a Pharaoh file (words counted from 0).")
    ] = None,
    languages: LanguagesOption = None,
    max_words: Annotated[int, typer.Option("--max-words", min=1, help="Words of a term, at most.")] = 3,
    min_count: Annotated[int, typer.Option("--min-count", min=1, help="How often a term is translated so.")] = 3,
    min_consistency: Annotated[
        float, typer.Option("--min-consistency", min=0.0, max=1.0, help="The least share of a term's translations.")
    ] = 0.6,
    inflect: Annotated[
        bool, typer.Option("--inflect", help="Inflected forms are one word; terms are base forms (needs simplemma).")
    ] = False,
) -> None:
    """List the terms that a bitext translates consistently, to be edited into a dictionary.

    Words are linked by a model, by a prepared corpus, or by a file of links. Each line has a term and its translation,
    how often and how consistently it is used, other translations, and an example; it can be used as a dictionary as it
    is, for the further columns are passed over.

    Example: `alidade dictionary extract -s train.en -t train.ro --output terms.tsv --inflect`
    """
    from alidade.aligner import read_pairs
    from alidade.dictionary.extraction import LinkedTexts, extract_terms, write_terms
    from alidade.text.normalise import normalise_text

    pairs = [(normalise_text(one), normalise_text(other)) for one, other in read_pairs(source, target)]
    if corpus is None and links is None:
        pair_of_languages, linked = _align_with_model(pairs, model)
    else:
        sources, targets = [one for one, _ in pairs], [other for _, other in pairs]
        pair_of_languages, alignments = _align(sources, targets, corpus, links, languages)
        linked = list(map(LinkedTexts, sources, targets, alignments))
    terms = extract_terms(
        linked,
        *pair_of_languages,
        max_words=max_words,
        min_count=min_count,
        min_consistency=min_consistency,
        inflect=inflect,
    )
    write_terms(output, terms)
    typer.echo(f"{len(terms)} terms from {len(pairs)} pairs; written to {output}")


def _align_with_model(pairs: list[tuple[str, str]], model: Path | None) -> tuple[tuple[str, str], list[LinkedTexts]]:
    from alidade.aligner import align
    from alidade.alignment.links import Alignment
    from alidade.dictionary.extraction import LinkedTexts
    from alidade.io import track
    from alidade.translator import Translator

    translator = Translator(model)
    chunks = [pairs[first : first + _CHUNK] for first in range(0, len(pairs), _CHUNK)]
    linked = []
    for chunk in track(chunks, "aligning", len(pairs), weigh=len):
        aligned = align(chunk, translator)
        linked += [LinkedTexts(one.source.text, one.target.text, one.alignment or Alignment()) for one in aligned]
    return translator.languages, linked


@app.command()
def simulate(
    source: Annotated[Path, typer.Option("--source", "-s", help="Source sentences, one a line.")],
    reference: Annotated[Path, typer.Option("--reference", "-r", help="Their reference translations.")],
    translation: Annotated[
        Path,
        typer.Option("--translation", "-t", help="The baseline's own translations, made without a dictionary."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The TSV file to write.")],
    corpus: Annotated[
        Path | None,
        typer.Option(
            "--corpus",
            help="Align source and reference with what `alidade prepare` learned in this folder.",
        ),
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option("--links", help="Or take their links from a Pharaoh file (words counted from 0)."),
    ] = None,
    languages: LanguagesOption = None,
    max_entries: Annotated[int, typer.Option("--max-entries", min=1, help="Entries a sentence, at most.")] = 4,
) -> None:
    """Make a dictionary that a user might have had, from a reference (paper, section 7).

    Takes source words that are linked one-to-one to a reference word, are no stop words, and whose reference word is
    not in the baseline's translation. Every entry applies to one occurrence in one sentence. Says how many entries
    there are and what share of the reference they cover.

    Example: `alidade dictionary simulate -s dev.en -r dev.de -t baseline.de --corpus corpus -o simulated.tsv`
    """
    from alidade.dictionary.files import write_entries
    from alidade.dictionary.simulation import ReferencePair, simulate_dictionary
    from alidade.evaluation.metrics import require_parallel
    from alidade.io import read_lines
    from alidade.text.normalise import normalise_text

    sources, references, translations = (
        [normalise_text(line) for line in read_lines(path)] for path in (source, reference, translation)
    )
    require_parallel(references, [sources], "source")
    require_parallel(references, [translations], "baseline's translation")
    pair_of_languages, alignments = _align(sources, references, corpus, links, languages)
    pairs = map(ReferencePair, sources, references, alignments, translations)
    simulated = simulate_dictionary(pairs, *pair_of_languages, max_entries)
    write_entries(output, simulated.entries)
    typer.echo(f"{simulated}; written to {output}")


def _align(
    sources: list[str], references: list[str], corpus: Path | None, links: Path | None, languages: str | None
) -> tuple[tuple[str, str], list[Alignment]]:
    from alidade.alignment.statistical import read_alignments
    from alidade.corpus.links import align_like_corpus
    from alidade.corpus.store import PreparedCorpus
    from alidade.errors import AlidadeError

    if corpus is not None and links is None:
        opened = PreparedCorpus.open(corpus)
        pair = opened.source_subwords.language, opened.target_subwords.language
        return pair, align_like_corpus(opened, list(zip(sources, references, strict=True)))
    if links is None or corpus is not None or languages is None:
        raise AlidadeError("give either --corpus, or --links together with --languages")
    alignments = list(read_alignments(links))
    if len(alignments) != len(sources):
        raise AlidadeError(f"{links}: has {len(alignments)} lines for {len(sources)} pairs; it needs one for each")
    return _parse_languages(languages), alignments


def _parse_languages(text: str) -> tuple[str, str]:
    from alidade.errors import AlidadeError

    source, hyphen, target = text.partition("-")
    if not (hyphen and source and target):
        raise AlidadeError(f'--languages {text}: write it as source-target, for example "en-de"')
    return source, target
