"""One alignment from the aligner's two directions.

Forward links give each target word at most one source word, reverse links each source word at most one target
word. `grow-diag-final-and` (Koehn, Och and Marcu, 2003; Koehn et al., 2005) starts from the links that both have.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from typing import Literal, assert_never

from alidade.alignment.links import Alignment, Link

Symmetrisation = Literal["forward", "reverse", "intersection", "union", "grow-diag-final-and"]

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrise(forward: Alignment, reverse: Alignment, method: Symmetrisation) -> Alignment:
    """Join two alignments of one pair, both with links (source, target)."""
    match method:
        case "forward":
            return forward
        case "reverse":
            return reverse
        case "intersection":
            return Alignment(forward.links & reverse.links)
        case "union":
            return Alignment(forward.links | reverse.links)
        case "grow-diag-final-and":
            return _grow_diag_final_and(forward, reverse)
        case _:
            assert_never(method)


def _grow_diag_final_and(forward: Alignment, reverse: Alignment) -> Alignment:
    """Grow the intersection by neighbours from the union that reach a free word, then join free words to free words."""
    links = set(forward.links & reverse.links)
    candidates = forward.links ^ reverse.links
    if not candidates:  # both directions agree: the usual case for short sentences
        return Alignment(frozenset(links))
    sources = {link.source for link in links}
    targets = {link.target for link in links}
    _grow(links, candidates, sources, targets)
    for direction in (forward, reverse):
        for link in sorted(direction.links & candidates, key=_by_target):
            if link.source not in sources and link.target not in targets:
                links.add(link)
                sources.add(link.source)
                targets.add(link.target)
    return Alignment(frozenset(links))


def _grow(links: set[Link], candidates: frozenset[Link], sources: set[int], targets: set[int]) -> None:
    """Add candidates beside or diagonal to a link until none is left that reaches a word without a link.

    Links are visited target word by target word, as in the published algorithm: a link that is added before the
    present place waits for the next pass. Only links next to a candidate are visited at all; there are few.
    """
    neighbours_of: defaultdict[tuple[int, int], list[Link]] = defaultdict(list)
    for source_step, target_step in _NEIGHBOURS:
        for candidate in candidates:
            neighbours_of[candidate.source - source_step, candidate.target - target_step].append(candidate)
    order = sorted([link for link in links | candidates if link in neighbours_of], key=_by_target)
    grew = True
    while grew:
        grew = False
        for link in order:
            if link not in links:
                continue
            for neighbour in neighbours_of[link]:
                if neighbour not in links and not (neighbour.source in sources and neighbour.target in targets):
                    links.add(neighbour)
                    sources.add(neighbour.source)
                    targets.add(neighbour.target)
                    grew = True


_by_target = operator.itemgetter(1, 0)
