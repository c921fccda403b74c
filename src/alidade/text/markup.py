"""Inline markup: tags taken out of a sentence and put into its translation, by the links of its words.

The model never sees a tag. Each element wraps the target words that its source words became: of all contiguous runs of
target words inside its parent's the one with the most of its own words and the fewest others. So every tag comes out
once, pairs are balanced and nested as in the source, no tag stands inside a word. What stands alone, `<br/>` or a line
break, goes before the word that followed it. Plain data in and out: words are numbers here, and weights say which
target word has how much of which source word: links, or the model's attention.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import regex

Role = Literal["open", "close", "alone"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A tag, or something else between the words of a source text."""

    text: str
    role: Role
    place: int
    """The number of the source word that it stands before; the number of words at the end."""
    name: str = ""
    """A closing mark ends the last open one with its name."""
    space_before: str = ""
    space_after: str = ""
    """The white space on its sides, which goes with a mark that stands alone."""
    is_break: bool = False
    """It parts words by itself, as a line break does."""
    keeps_order: bool = False
    """It never changes places with others of this kind: lines stay in their order."""
    number: int | None = None
    """Which one of its text's marks it is."""


@dataclass(slots=True)
class Element:
    """A pair of tags and what it wraps, or a mark that stands alone."""

    mark: Mark
    closing: Mark | None = None
    children: list[Element] = field(default_factory=list)

    @property
    def start(self) -> int:
        return self.mark.place

    @property
    def end(self) -> int:
        return self.mark.place if self.closing is None else self.closing.place


class Placed(NamedTuple):
    """A mark in the target: before which word it stands."""

    mark: Mark
    place: int
    is_alone: bool


def role_of_tag(tag: str) -> tuple[Role, str]:
    """Whether a tag opens, closes or stands alone, and its element's name."""
    match = _TAG.match(tag)
    if match is None:  # a comment, a declaration
        return "alone", ""
    name = match["name"].lower()
    if match["slash"]:
        return "close", name
    return ("alone" if match["end"] or name in VOID else "open"), name


_TAG = regex.compile(r"(?:<|&lt;)(?P<slash>/?)(?P<name>[A-Za-z][\w:.-]*)(?:.*?)(?P<end>/?)(?:>|&gt;)$", regex.DOTALL)
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
BREAKS = frozenset({"br", "hr", "p", "div", "li", "td", "th", "tr", "ul", "ol", "table", "img", "h1", "h2", "h3", "h4"})
"""Elements that part words without a space."""


def build_tree(marks: Sequence[Mark], num_source: int) -> Element:
    """The marks of a text as a tree; those without a partner stand alone."""
    root = Element(Mark("", "open", 0), Mark("", "close", num_source))
    partners = partners_of(marks)
    stack = [root]
    for number, mark in enumerate(marks):
        if number not in partners:
            stack[-1].children.append(Element(mark))
        elif partners[number] > number:
            element = Element(mark, marks[partners[number]])
            stack[-1].children.append(element)
            stack.append(element)
        else:
            stack.pop()
    return root


def partners_of(marks: Sequence[Mark]) -> dict[int, int]:
    """Which mark closes which; of pairs that cross each other, the one that closes first counts."""
    partners: dict[int, int] = {}
    opened: list[int] = []
    for number, mark in enumerate(marks):
        if mark.role == "open":
            opened.append(number)
        elif mark.role == "close":
            fitting = [other for other in opened if marks[other].name == mark.name]
            if fitting:
                del opened[opened.index(fitting[-1]) :]
                partners |= {fitting[-1]: number, number: fitting[-1]}
    return partners


Weights = Mapping[int, float]
"""How much a target word has of each source word."""


def place_marks(root: Element, weights: Sequence[Weights]) -> list[Placed]:
    """Where a tree's marks go in the target, in the order in which they stand there.

    weights: for each target word the source words that it comes from.
    """
    weights = _without_idle(weights, root)
    targets = targets_of([_main_source(one) for one in weights])
    placed = [*_place(root, range(len(weights)), weights, targets)][1:-1]
    return _in_source_order(placed)


def _without_idle(weights: Sequence[Weights], root: Element) -> list[Weights]:
    """Without the source words that no target word has most of: articles, mostly. A mark's own words stay."""
    first = {max(one, key=lambda word: one[word]) for one in weights if one}
    marked = {word for child in _wrapping(root) for word in range(child.start, child.end)}
    return [{word: weight for word, weight in one.items() if word in first or word in marked} for one in weights]


def _wrapping(element: Element) -> Iterator[Element]:
    for child in element.children:
        if child.closing is not None:
            yield child
            yield from _wrapping(child)


Targets = Mapping[int, Sequence[int]]
"""For source words the target words that come from them, from left to right."""


def targets_of(sources: Sequence[int | None]) -> Targets:
    """From the source word of each target word to the target words of each source word."""
    targets: dict[int, list[int]] = {}
    for word, source in enumerate(sources):
        if source is not None:
            targets.setdefault(source, []).append(word)
    return targets


def place_of(gap: int, inside: range, targets: Targets, span: range) -> int:
    """Where in a run of target words something goes that stood before source word `gap`, inside a span of source words.

    Before the word that followed it; if nothing points at that, after the one before it; then farther away.
    """
    if gap <= span.start:
        return inside.start
    if gap >= span.stop:
        return inside.stop
    for distance in range(len(span)):
        following = [word for word in targets.get(gap + distance, ()) if word in inside]
        if following:
            return following[0]
        previous = [word for word in targets.get(gap - 1 - distance, ()) if word in inside]
        if previous:
            return previous[-1] + 1
    return inside.stop


def _main_source(weights: Weights) -> int | None:
    return max(weights, key=lambda word: (weights[word], -word)) if weights else None


def _place(element: Element, inside: range, weights: Sequence[Weights], targets: Targets) -> Iterator[Placed]:
    """A pair and its contents, wrapped around a run of target words."""
    assert element.closing is not None
    yield Placed(element.mark, inside.start, is_alone=False)
    runs = _runs_of_children(element, inside, weights, targets)
    for number in sorted(range(len(runs)), key=lambda child: (runs[child].start, runs[child].stop, child)):
        child, run = element.children[number], runs[number]
        if child.closing is None:
            yield Placed(child.mark, run.start, is_alone=True)
        else:
            yield from _place(child, run, weights, targets)
    yield Placed(element.closing, inside.stop, is_alone=False)


def _runs_of_children(element: Element, inside: range, weights: Sequence[Weights], targets: Targets) -> list[range]:
    """For each child a run of target words inside its parent's; no two overlap, those of marks alone are empty."""
    runs: dict[int, range] = {}
    span = range(element.start, element.end)
    taken: set[int] = set()
    pairs = [number for number, child in enumerate(element.children) if child.closing is not None]
    wanted = {number: _best_run(element.children[number], span, inside, weights, targets, taken) for number in pairs}
    for number in sorted(pairs, key=lambda child: -len(wanted[child])):
        run = wanted[number]
        if not taken.isdisjoint(run):
            run = _best_run(element.children[number], span, inside, weights, targets, taken)
        if run:
            runs[number] = run
            taken.update(run)
    for number, child in enumerate(element.children):
        if number not in runs:
            place = _outside(place_of(child.start, inside, targets, span), runs.values())
            runs[number] = range(place, place)
    return [runs[number] for number in range(len(element.children))]


def _best_run(
    child: Element, span: range, inside: range, weights: Sequence[Weights], targets: Targets, taken: Set[int]
) -> range:
    """The run of target words that are not taken with the most words of a child and the fewest others."""
    own = range(child.start, child.end)
    if not own:
        return range(0)
    if own == span and taken.isdisjoint(inside):
        return inside
    near = _near(own, inside, targets)
    best, best_sum, start, total = range(0), 0.0, near.start, 0.0
    for word in near:
        if total <= 0 or word in taken:
            start, total = word, 0.0
        if word in taken:
            start += 1
            continue
        gain = 2 * _share(weights[word], own) - 1
        total += _OWN_WEIGHT * gain if gain > 0 else gain
        if total > best_sum + _EPSILON:
            best, best_sum = range(start, word + 1), total
    return best or _likeliest_word(own, [word for word in near if word not in taken], weights)


_OWN_WEIGHT = 2.0
"""A word that a pair loses is worse than a stranger between two of its words: a link "help page" that became "pagina
noastră de ajutor" goes around all of it."""

_REACH = 4
"""A word that belongs to a pair stands at most so far from one that does for the most part."""


def _near(own: range, inside: range, targets: Targets) -> range:
    """Where a pair's words can be: around those that come from its source words, or anywhere."""
    words = [word for source in own for word in targets.get(source, ()) if word in inside]
    if not words:
        words = [word for source in (own.start - 1, own.stop) for word in targets.get(source, ()) if word in inside]
    if not words:
        return inside
    return range(max(inside.start, min(words) - _REACH), min(inside.stop, max(words) + _REACH + 1))


_EPSILON = 1e-9
LEAST_SHARE = 0.25
"""A target word that has less of a pair's words does not translate them."""


def _share(weights: Weights, own: range) -> float:
    """How much of a target word comes from some source words; a word from nowhere may go with either side."""
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in own) / total if total > 0 else 0.5


def _likeliest_word(own: range, words: Iterable[int], weights: Sequence[Weights]) -> range:
    """Where no word has come from a pair's words for the most part: the one that has most of them.

    However little that is: a link around a neighbour can be moved, one around nothing is lost on everybody.
    """
    shares = {word: _share(weights[word], own) for word in words if any(source in own for source in weights[word])}
    best = max(shares, key=lambda word: shares[word], default=None)
    return range(0) if best is None else range(best, best + 1)


class Held(NamedTuple):
    """What a pair of tags holds in the target."""

    mark: Mark
    words: range
    share: float
    """How much of the word that has most of them comes from the pair's source words."""


def held_by_pairs(root: Element, placed: Sequence[Placed], weights: Sequence[Weights]) -> Iterator[Held]:
    """For each pair with words in the source, what it holds."""
    places = {id(one.mark): one.place for one in placed}
    for element in _wrapping(root):
        if element.closing is not None and element.start < element.end:
            words = range(places[id(element.mark)], places[id(element.closing)])
            own = range(element.start, element.end)
            yield Held(element.mark, words, max([_share(weights[word], own) for word in words], default=0.0))


def _outside(place: int, runs: Iterable[range]) -> int:
    """A place moved out of the run that it would cut in two, to its nearer end."""
    for run in runs:
        if run.start < place < run.stop:
            return run.start if place - run.start < run.stop - place else run.stop
    return place


def _in_source_order(placed: list[Placed]) -> list[Placed]:
    """Marks that keep their order, in the places that they have together."""
    numbers = [number for number, one in enumerate(placed) if one.mark.keeps_order]
    marks = sorted([placed[number].mark for number in numbers], key=lambda mark: mark.place)
    for number, mark in zip(numbers, marks, strict=True):
        placed[number] = placed[number]._replace(mark=mark)
    return placed


class Assembled(NamedTuple):
    """A text put together from words and marks, and where its words stand."""

    text: str
    spans: list[tuple[int, int]]


def assemble(words: Sequence[str], gaps: Sequence[str], placed: Sequence[Placed]) -> Assembled:
    """The text of target words, the gaps before each of them and after the last, and marks in their places."""
    text = ""
    spans = []
    marks_of = {place: [*marks] for place, marks in itertools.groupby(placed, key=lambda one: one.place)}
    for number, gap in enumerate(gaps):
        marks = marks_of.get(number, [])
        text += fill_gap(gap, marks, is_first=number == 0, is_last=number == len(words)) if marks else gap
        if number < len(words):
            spans.append((len(text), len(text) + len(words[number])))
            text += words[number]
    return Assembled(text, spans)


def fill_gap(gap: str, marks: Sequence[Placed], *, is_first: bool, is_last: bool) -> str:
    """The white space between two words with marks in it: after what closes, before what opens.

    What stands alone brings its own white space, but none to the ends of the text.
    """
    alone = [number for number, one in enumerate(marks) if one.is_alone]
    if not alone:
        return _fill_with_pairs(gap, [one.mark for one in marks])
    inner = [one.mark for one in marks[alone[0] : alone[-1] + 1]]
    before = "" if is_first else inner[0].space_before
    after = "" if is_last or (not gap and not is_first) else inner[-1].space_after
    if gap and not before and not after and not any(mark.is_break for mark in inner):
        before = gap  # the words were one in the source and are two now
    texts = [one.text + (one.space_after or other.space_before) for one, other in itertools.pairwise(inner)]
    return f"{_join(marks[: alone[0]])}{before}{''.join(texts)}{inner[-1].text}{after}{_join(marks[alone[-1] + 1 :])}"


def _fill_with_pairs(gap: str, marks: Sequence[Mark]) -> str:
    """Between tags that are neighbours as they were in the source stands what stood there."""
    num_closing = len([*itertools.takewhile(lambda mark: mark.role == "close", marks)])
    text = "" if num_closing else gap
    for number, mark in enumerate(marks):
        text += mark.text
        following = marks[number + 1] if number + 1 < len(marks) else None
        has_gap = number + 1 == num_closing
        if following is not None and _are_neighbours(mark, following):
            parts_words = mark.space_after or mark.is_break or following.is_break
            text += mark.space_after if parts_words or not has_gap else gap
        elif has_gap:
            text += gap
    return text


def _are_neighbours(mark: Mark, following: Mark) -> bool:
    return mark.number is not None and following.number == mark.number + 1 and mark.place == following.place


def _join(marks: Sequence[Placed]) -> str:
    return "".join([one.mark.text for one in marks])
