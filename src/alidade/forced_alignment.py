"""Forced alignment: the links of given pairs, found by a translation system. Any bitext can be aligned with it.

An assisted system is asked for the best positions of the given target under its lexical and its alignment model: the
search with the whole target given. A baseline is asked where its attention is greatest (paper, section 5). Two systems,
one for each direction, give two alignments that are symmetrised as those of statistical aligners are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from alidade.alignment.links import Alignment
from alidade.alignment.symmetrisation import Symmetrisation, symmetrise
from alidade.alignment.tokenised import encode_tokenised
from alidade.search.scoring import best_positions
from alidade.text.subwords import Encoding, Subwords
from alidade.translated import Translation
from alidade.translation import Translator

TextPair = tuple[str, str]


def align_pairs(
    translator: Translator, pairs: Sequence[TextPair], *, is_tokenised: bool = False, by_attention: bool = False
) -> list[Translation]:
    """The given targets as translations of their sources, with links of words; scores are left at zero.

    is_tokenised: words are what stands between spaces, not what `split_words` says. by_attention: link each target
    piece to j(i), not to its position, also in an assisted system.
    """
    model = translator.model
    sources = [_encode(source, model.source_subwords, model.normalise_source, is_tokenised) for source, _ in pairs]
    targets = [_encode(target, model.target_subwords, model.normalise_target, is_tokenised) for _, target in pairs]
    filled = [number for number in range(len(pairs)) if len(sources[number]) and len(targets[number])]
    paths = best_positions(
        model.system,
        [sources[number].ids for number in filled],
        [targets[number].ids for number in filled],
        translator.settings,
        translator.batch_size,
    )
    given = [
        Translation(sources[number], targets[number], path, 0.0, 0.0, 0.0)
        for number, path in zip(filled, paths, strict=True)
    ]
    linked = dict(zip(filled, translator.link(given, by_attention=by_attention), strict=True))
    return [
        linked.get(number) or Translation(sources[number], targets[number], (), 0.0, 0.0, 0.0, alignment=Alignment())
        for number in range(len(pairs))
    ]


def align_both_ways(
    forward: Translator,
    reverse: Translator,
    pairs: Sequence[TextPair],
    method: Symmetrisation,
    *,
    is_tokenised: bool = False,
    by_attention: bool = False,
) -> list[Alignment]:
    """Symmetrised links of words from a system for each direction; `reverse` translates target into source."""
    flipped = [(target, source) for source, target in pairs]
    there = align_pairs(forward, pairs, is_tokenised=is_tokenised, by_attention=by_attention)
    back = align_pairs(reverse, flipped, is_tokenised=is_tokenised, by_attention=by_attention)
    return [symmetrise(_links(one), _links(other).transposed(), method) for one, other in zip(there, back, strict=True)]


def _encode(text: str, subwords: Subwords, normalise: Callable[[str], str], is_tokenised: bool) -> Encoding:
    if not is_tokenised:
        return subwords.encode(normalise(text))
    return encode_tokenised([normalise(word) or word for word in text.split()], subwords)  # none may vanish


def _links(translation: Translation) -> Alignment:
    assert translation.alignment is not None
    return translation.alignment
