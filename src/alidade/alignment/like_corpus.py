"""Aligning other pairs in the way in which a prepared corpus was aligned: a dev set, a test set.

The aligner starts from what it learned on the corpus (its priors), which is as good as aligning the pairs together
with the training bitext, and takes seconds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from alidade.alignment.aligners import EflomalAligner, read_alignments
from alidade.alignment.links import Alignment
from alidade.alignment.symmetrisation import symmetrise
from alidade.alignment.tokenised import encode_tokenised
from alidade.config import AlignerSettings, CleaningSettings, parse_settings
from alidade.errors import AlidadeError
from alidade.files import write_aside
from alidade.text.cleaning import Cleaner
from alidade.text.corpus import PreparedCorpus
from alidade.text.layout import Layout
from alidade.text.subwords import Encoding, Subwords


def align_like_corpus(
    corpus: PreparedCorpus, pairs: Sequence[tuple[str, str]], *, is_tokenised: bool = False
) -> list[Alignment]:
    """The links of the words of (source, target) sentences, symmetrised as the corpus's were.

    is_tokenised: words are what stands between spaces, as in gold alignments.
    """
    source_name = f"{corpus.folder}: its settings"
    aligner = parse_settings(AlignerSettings, corpus.settings.get("aligner", {}), source=source_name)
    if aligner.kind != "eflomal":
        raise AlidadeError(
            f'{corpus.folder}: was prepared with aligner.kind = "{aligner.kind}", and only eflomal leaves priors to '
            "align other pairs with; give their links as a Pharaoh file instead"
        )
    cleaning = parse_settings(CleaningSettings, corpus.settings.get("cleaning", {}), source=source_name)
    cleaner = Cleaner(cleaning, corpus.source_subwords.language, corpus.target_subwords.language)
    clean_pairs = [cleaner.normalise(*pair) for pair in pairs]
    encode = _encode_tokenised if is_tokenised else _encode
    sources = [encode(pair.source, corpus.source_subwords) for pair in clean_pairs]
    targets = [encode(pair.target, corpus.target_subwords) for pair in clean_pairs]
    alignments = _align_units(corpus.folder, sources, targets, aligner)
    if aligner.unit == "words":
        return alignments
    return [_join_pieces(*linked) for linked in zip(alignments, sources, targets, strict=True)]


def _encode(text: str, subwords: Subwords) -> Encoding:
    return subwords.encode(text)


def _encode_tokenised(text: str, subwords: Subwords) -> Encoding:
    return encode_tokenised(text.split(), subwords)


def _align_units(
    corpus: Path, sources: Sequence[Encoding], targets: Sequence[Encoding], aligner: AlignerSettings
) -> list[Alignment]:
    with tempfile.TemporaryDirectory(prefix="alidade-") as name:
        folder = Path(name)
        files = folder / "source", folder / "target"
        for path, encodings in zip(files, (sources, targets), strict=True):
            with write_aside(path) as file:
                file.writelines([f"{' '.join(_units(encoding, aligner.unit))}\n" for encoding in encodings])
        links = folder / "forward", folder / "reverse"
        EflomalAligner().align_with_priors(*files, *links, Layout(corpus).priors)
        directions = zip(*map(read_alignments, links), strict=True)
        return [symmetrise(forward, reverse, aligner.symmetrisation) for forward, reverse in directions]


def _units(encoding: Encoding, unit: str) -> Sequence[str]:
    return [word.text for word in encoding.words] if unit == "words" else encoding.pieces


def _join_pieces(alignment: Alignment, source: Encoding, target: Encoding) -> Alignment:
    """Links of words from links of their pieces."""
    return Alignment.of([(source.word_of_piece[link.source], target.word_of_piece[link.target]) for link in alignment])
