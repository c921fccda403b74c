"""Message catalogues in XML: XLIFF 1.2 and 2, TMX, Qt's TS, Android's strings.xml and .NET's RESX."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import regex

from alidade.documents.document import NOTE, Document, Edit, Filled, Unit, has_letters, line_of
from alidade.documents.xml import Element, XmlFile, escape_text, indentation, mend_markup, read_xml, readable
from alidade.errors import AlidadeError
from alidade.text.languages import is_same_language
from alidade.text.plurals import number_of_plurals, plural_categories, speaks_of_several

Languages = tuple[str, str]
"""Of the source and of the target."""


def read_xml_catalogue(path: Path, content: bytes, languages: Languages) -> Document:
    """The units of any of these, told apart by their root element."""
    file = read_xml(path, content)
    readers = {"xliff": _xliff, "tmx": _tmx, "TS": _ts, "resources": _android, "root": _resx}
    reader = readers.get(file.root.local_name)
    if reader is None:
        raise AlidadeError(
            f"{path}: <{file.root.name}> is no catalogue that Alidade knows (XLIFF, TMX, TS, Android, RESX)"
        )
    units = [*reader(file, languages)]
    return Document(file.text, units, file.encoding, _language_edits(file, languages), file.declaration)


def _place(file: XmlFile, element: Element) -> str:
    return f"line {line_of(file.text, element.start)}"


def _is_off(element: Element) -> bool:
    """Whether an element or one around it says that it is not to be translated."""
    one: Element | None = element
    while one is not None:
        if one.attributes.get("translate") == "no" or one.attributes.get("translatable") == "false":
            return True
        if one.attributes.get("translate") == "yes":
            return False
        one = one.parent
    return False


def _replace_inner(file: XmlFile, element: Element, content: str) -> Edit:
    """New content, whether the element is written as <x></x> or as <x/>."""
    if element.is_empty:
        slash = file.text.rindex("/", element.start, element.end)
        return Edit(slash, element.end, f">{content}</{element.name}>")
    return Edit(element.inner_start, element.inner_end, content)


def _set_attribute(file: XmlFile, element: Element, name: str, value: str) -> list[Edit]:
    tag = file.text[element.start : element.inner_start]
    match = regex.search(rf"""(?<=\s){name}\s*=\s*("[^"]*"|'[^']*')""", tag)
    if match:
        start, end = element.start + match.start(1) + 1, element.start + match.end(1) - 1
        return [] if file.text[start:end] == value else [Edit(start, end, value)]
    place = element.start + 1 + len(element.name)
    return [Edit(place, place, f' {name}="{value}"')]


def _drop_attribute(file: XmlFile, element: Element, name: str, value: str) -> list[Edit]:
    """Without an attribute, if it has this value."""
    tag = file.text[element.start : element.inner_start]
    match = regex.search(rf"""\s+{name}\s*=\s*(?:"{value}"|'{value}')""", tag)
    return [Edit(element.start + match.start(), element.start + match.end(), "")] if match else []


def _without(file: XmlFile, element: Element) -> Edit:
    return Edit(element.start - len(indentation(file.text, element.start)), element.end, "")


def _language_edits(file: XmlFile, languages: Languages) -> list[Edit]:
    """Say which language the translations are in, where the file has a place for it and says nothing."""
    target = languages[1]
    edits: list[Edit] = []
    for element in file.root.walk() if file.root.local_name in ("xliff", "TS") else ():
        if element.local_name == "file" and "source-language" in element.attributes:
            edits += (
                []
                if "target-language" in element.attributes
                else _set_attribute(file, element, "target-language", target)
            )
        elif element.local_name == "xliff" and "srcLang" in element.attributes and "trgLang" not in element.attributes:
            edits += _set_attribute(file, element, "trgLang", target)
        elif element.local_name == "TS" and "language" not in element.attributes:
            edits += _set_attribute(file, element, "language", target.replace("-", "_"))
    return edits


def _xliff(file: XmlFile, _: Languages) -> Iterator[Unit]:
    for element in file.root.walk():
        is_unit = element.local_name in ("trans-unit", "segment")
        if is_unit and not _is_off(element) and (source := element.find("source")) is not None:
            target = element.find("target")
            is_new = target is not None and target.attributes.get("state") in ("new", "needs-translation")
            present = () if target is None or is_new else (target.inner(file.text),)
            yield Unit(
                (readable(source.inner(file.text)),),
                functools.partial(_fill_xliff, file, element, source, target),
                _place(file, element),
                present if any(text.strip() for text in present) else (),
                is_reviewed=not _waits_for_review(element, target),
            )


def _waits_for_review(unit: Element, target: Element | None) -> bool:
    state = "" if target is None else target.attributes.get("state", "")
    return state.startswith("needs-") or unit.attributes.get("subState") == _MACHINE


_MACHINE = "alidade:machine"


def _fill_xliff(file: XmlFile, unit: Element, source: Element, target: Element | None, filled: Filled) -> list[Edit]:
    content = mend_markup(filled.texts[0], source.inner(file.text))
    is_old = unit.local_name == "trans-unit"
    state = "translated" if filled.is_certain else "needs-review-translation"
    prefix = source.name[: -len("source")]
    edits: list[Edit] = []
    has_note = is_old and filled.origin != "person"
    note = f'<{prefix}note from="alidade">{escape_text(filled.note)}</{prefix}note>' if has_note else ""
    edits += [_without(file, child) for child in unit.children if child.attributes.get("from") == "alidade"]
    space = indentation(file.text, source.start)
    if target is None:
        attribute = f' state="{state}"' if is_old else ""
        added = f"{space}<{prefix}target{attribute}>{content}</{prefix}target>"
        segmented = unit.find("seg-source")
        place = source.end if segmented is None else segmented.end
        edits.append(Edit(place, place, added + (space + note if note else "")))
    else:
        edits.append(_replace_inner(file, target, content))
        edits += _set_attribute(file, target, "state", state) if is_old else []
        edits += [Edit(target.end, target.end, space + note)] if note else []
    return edits if is_old else [*edits, *_xliff2_state(file, unit, filled), *_xliff2_note(file, unit, filled)]


def _xliff2_state(file: XmlFile, segment: Element, filled: Filled) -> list[Edit]:
    """XLIFF 2 has no word for what waits for a review; what comes after the colon is left to programs."""
    if filled.is_certain:
        state = "reviewed" if filled.origin == "person" else "translated"
        return [*_set_attribute(file, segment, "state", state), *_drop_attribute(file, segment, "subState", _MACHINE)]
    return [*_set_attribute(file, segment, "state", "translated"), *_set_attribute(file, segment, "subState", _MACHINE)]


def _xliff2_note(file: XmlFile, segment: Element, filled: Filled) -> list[Edit]:
    """XLIFF 2 has its notes at the start of the unit; one for its first segment is enough."""
    unit = segment.parent
    if unit is None or unit.local_name != "unit" or unit.find("segment") is not segment:
        return []
    prefix = unit.name[: -len("unit")]
    note = f'<{prefix}note category="alidade">{escape_text(filled.note)}</{prefix}note>'
    notes = unit.find("notes")
    if filled.origin == "person":
        note = ""
    if notes is not None:
        old = [_without(file, child) for child in notes.children if child.attributes.get("category") == "alidade"]
        if notes.is_empty:
            return [_replace_inner(file, notes, note)]
        return (
            [_without(file, notes)]
            if len(old) == len(notes.children) and not note
            else [*old, Edit(notes.inner_end, notes.inner_end, note)]
        )
    if not note:
        return []
    first = unit.find("originalData") or segment
    space = indentation(file.text, first.start)
    place = first.start - len(space)
    return [Edit(place, place, f"{space}<{prefix}notes>{note}</{prefix}notes>")]


def _tmx(file: XmlFile, languages: Languages) -> Iterator[Unit]:
    for unit in file.root.walk():
        if unit.local_name != "tu":
            continue
        variants = [child for child in unit.children if child.local_name == "tuv"]
        source = next((one for one in variants if is_same_language(_language(one), languages[0])), None)
        target = next((one for one in variants if is_same_language(_language(one), languages[1])), None)
        seg = source.find("seg") if source else None
        if source is None or seg is None:
            continue
        old = target.find("seg") if target else None
        present = old.inner(file.text) if old is not None else ""
        fill = functools.partial(_fill_tmx, file, source, seg, old, languages[1])
        yield Unit((readable(seg.inner(file.text)),), fill, _place(file, unit), (present,) if present.strip() else ())


def _language(variant: Element) -> str:
    return variant.attributes.get("xml:lang") or variant.attributes.get("lang") or ""


def _fill_tmx(
    file: XmlFile, source: Element, seg: Element, old: Element | None, language: str, filled: Filled
) -> list[Edit]:
    content = mend_markup(filled.texts[0], seg.inner(file.text))
    if old is not None:
        return [_replace_inner(file, old, content)]
    space = indentation(file.text, source.start)
    prop = f'<prop type="x-alidade">{escape_text(filled.note)}</prop>'
    tuv = f'<tuv xml:lang="{language}" creationtool="alidade">{prop}<seg>{content}</seg></tuv>'
    return [Edit(source.end, source.end, space + tuv)]


def _ts(file: XmlFile, languages: Languages) -> Iterator[Unit]:
    num_forms = number_of_plurals(languages[1])
    for message in file.root.walk():
        if message.local_name != "message":
            continue
        source, translation = message.find("source"), message.find("translation")
        if source is None or translation is None or translation.attributes.get("type") in ("obsolete", "vanished"):
            continue
        text = readable(source.inner(file.text))
        fill = functools.partial(_fill_ts, file, message, source, translation)
        is_done = translation.attributes.get("type") != "unfinished"
        if message.attributes.get("numerus") == "yes":
            several = tuple([speaks_of_several(form, num_forms) for form in range(num_forms)])
            forms = tuple([child.inner(file.text) for child in translation.children])
            yield Unit((text,) * num_forms, fill, _place(file, message), forms, several, is_done)
        else:
            present = translation.inner(file.text)
            targets = (present,) if present.strip() else ()
            yield Unit((text,), fill, _place(file, message), targets, is_reviewed=is_done)


def _fill_ts(file: XmlFile, message: Element, source: Element, translation: Element, filled: Filled) -> list[Edit]:
    texts = [mend_markup(text, source.inner(file.text)) for text in filled.texts]
    if message.attributes.get("numerus") == "yes":
        space = indentation(file.text, translation.start)
        forms = "".join([f"{space}    <numerusform>{text}</numerusform>" for text in texts])
        edits = [_replace_inner(file, translation, forms + space)]
    else:
        edits = [_replace_inner(file, translation, texts[0])]
    comment = message.find("translatorcomment")
    if comment is not None and _NOTE.fullmatch(comment.inner(file.text)):
        edits.append(_without(file, comment))
        comment = None
    if filled.is_certain:
        return edits + _drop_attribute(file, translation, "type", "unfinished")
    if comment is None:
        space = indentation(file.text, translation.start)
        place = translation.start - len(space)
        edits.append(Edit(place, place, f"{space}<translatorcomment>{escape_text(filled.note)}</translatorcomment>"))
    return edits + _set_attribute(file, translation, "type", "unfinished")


_NOTE = regex.compile(NOTE)


def _android(file: XmlFile, languages: Languages) -> Iterator[Unit]:
    for element in file.root.walk():
        if _is_off(element):
            continue
        if element.local_name == "string" or (element.local_name == "item" and _parent_name(element) == "string-array"):
            text = element.inner(file.text)
            if _is_android_text(readable(text)):
                fill = functools.partial(_fill_android, file, element)
                yield Unit((_android_plain(text),), fill, _place(file, element))
        elif element.local_name == "plurals":
            yield from _android_plurals(file, element, languages)


def _parent_name(element: Element) -> str:
    return element.parent.local_name if element.parent else ""


def _is_android_text(text: str) -> bool:
    """References to other resources are no text."""
    return has_letters(text) and not regex.fullmatch(r"\s*[@?][\w:/.+-]+\s*", text)


def _android_plain(text: str) -> str:
    """Apostrophes and quotes as people write them: Android wants a backslash before each.

    Quotes without one, around the whole, keep its white space and are no part of it.
    """
    text = readable(text)
    quoted = _ANDROID_QUOTED.fullmatch(text)
    return (quoted["text"] if quoted else text).replace("\\'", "'").replace('\\"', '"')


_ANDROID_QUOTED = regex.compile(r"""(?P<start>\s*")(?P<text>(?:[^"\\]|\\.)*+)(?P<end>"\s*)""", regex.DOTALL)


def _android_written(target: str, source: str) -> str:
    if readable(source) == source:
        target = mend_markup(target, source)
    pieces = regex.split(r"""(<[^<>]*>)""", target)
    target = "".join(
        [piece if piece.startswith("<") else regex.sub(r"""(?<!\\)(['"])""", r"\\\1", piece) for piece in pieces]
    )
    quoted = _ANDROID_QUOTED.fullmatch(readable(source))
    if quoted:
        target = quoted["start"] + target + quoted["end"]
    return target if readable(source) == source else mend_markup(target, source)


def _fill_android(file: XmlFile, element: Element, filled: Filled) -> list[Edit]:
    return [_replace_inner(file, element, _android_written(filled.texts[0], element.inner(file.text)))]


def _android_plurals(file: XmlFile, plurals: Element, languages: Languages) -> Iterator[Unit]:
    """An item for each category of the target language; those that the source has not are made from "other"."""
    items = {item.attributes.get("quantity", ""): item for item in plurals.children if item.local_name == "item"}
    if "other" not in items:
        return
    names = plural_categories(languages[1])
    sources = [_android_plain(items.get(name, items["other"]).inner(file.text)) for name in names]
    fill = functools.partial(_fill_android_plurals, file, items, names)
    yield Unit(tuple(sources), fill, _place(file, plurals), (), tuple([name != "one" for name in names]))


def _fill_android_plurals(
    file: XmlFile, items: dict[str, Element], names: tuple[str, ...], filled: Filled
) -> list[Edit]:
    edits = []
    other = items["other"]
    for name, text in zip(names, filled.texts, strict=True):
        written = _android_written(text, items.get(name, other).inner(file.text))
        if name in items:
            edits.append(_replace_inner(file, items[name], written))
        else:
            space = indentation(file.text, other.start)
            place = other.start - len(space)
            edits.append(Edit(place, place, f'{space}<{other.name} quantity="{name}">{written}</{other.name}>'))
    # English's own forms that the target has not ("one" in Chinese) go
    edits += [_without(file, one) for name, one in items.items() if name not in names]
    return edits


def _resx(file: XmlFile, _: Languages) -> Iterator[Unit]:
    for element in file.root.walk():
        if element.local_name != "data" or "type" in element.attributes or "mimetype" in element.attributes:
            continue
        if element.attributes.get("name", "").startswith(">>"):  # the names that Visual Studio has for controls
            continue
        value = element.find("value")
        if value is not None and has_letters(value.inner(file.text)):
            yield Unit(
                (readable(value.inner(file.text)),), functools.partial(_fill_value, file, value), _place(file, element)
            )


def _fill_value(file: XmlFile, value: Element, filled: Filled) -> list[Edit]:
    return [_replace_inner(file, value, mend_markup(filled.texts[0], value.inner(file.text)))]
