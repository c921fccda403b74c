"""Whatever a file has, a reader gives a result or one clear sentence: documents, dictionaries, links, bitexts, folders.

Files that are right are damaged at random, with a seed, so that a failure comes back; what can still be read is also
written with every unit filled. No file may take long or much memory. `ALIDADE_FUZZ` takes another number of files for
each reader than the few that fit into a run of all tests (3,000 make 100,000 together).
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import resource
import shutil
import signal
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alidade import AlidadeError
from alidade.alignment.statistical import read_alignments, read_gold_alignments
from alidade.config import BitextSettings
from alidade.corpus.bitext import read_bitext
from alidade.dictionary.files import load_dictionary
from alidade.documents.document import Filled
from alidade.documents.formats import FORMATS, read_document
from alidade.documents.memory import read_tmx_pairs
from alidade.documents.mo import _write
from alidade.engine.system import load_engine
from alidade.model_folder import load_model_folder
from small_folders import make_folder

NUM_FILES = int(os.environ.get("ALIDADE_FUZZ", "200"))
MOST_SECONDS = 10
MOST_MEGABYTES = 300
LANGUAGES = ("en", "ro")
TSV = "source\ttarget\tcase\toccurrence\nhouse\tcasă|casa\tignore\t1\nAlidade\t=\texact\t\nuser\t!utilizator\t\t\n"
TBX = """<?xml version="1.0" encoding="UTF-8"?>
<martif type="TBX" xml:lang="en"><text><body>
<termEntry id="1"><langSet xml:lang="en"><tig><term>house</term></tig></langSet>
<langSet xml:lang="ro"><tig><term>casă</term></tig></langSet></termEntry>
</body></text></martif>
"""
TMX = """<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>The <bpt i="1"/>house</seg></tuv><tuv xml:lang="ro"><seg>Casa &amp; curtea</seg></tuv></tu>
</body></tmx>
"""
NOISE = (b"\x00", b"\xff\xfe", b"\t", b"\n", b'"', b"<", b"&x;", b"]]>", b"<!DOCTYPE x [", b"9" * 30, b"-1", b"\xc3")

Reader = Callable[[Path], object]


def read_terms(path: Path) -> object:
    return load_dictionary([path], languages=LANGUAGES)


def read_pairs(path: Path) -> object:
    settings = BitextSettings.model_validate({"source": path, "format": path.suffix[1:]})
    return list(read_bitext(settings, LANGUAGES))


def read_and_fill(path: Path) -> object:
    content = path.read_bytes()
    document = read_document(path, content, LANGUAGES)
    assert document.render({}) == content
    filled = {number: Filled(unit.sources, "machine", 0.5) for number, unit in enumerate(document.units)}
    return document.render(filled)


READERS: dict[str, tuple[str, Reader]] = {
    "terms.tsv": (TSV, read_terms),
    "terms.csv": (TSV.replace("\t", ","), read_terms),
    "terms.tbx": (TBX, read_terms),
    "memory.tmx": (TMX, read_pairs),
    "pairs.tmx": (TMX, lambda path: read_tmx_pairs(path, path.read_bytes(), LANGUAGES)),
    "bitext.tsv": ("a\tb\nc\td\n", read_pairs),
    "links.pharaoh": ("0-0 1-2\n\n3-1\n", lambda path: list(read_alignments(path))),
    "links.gold": ("1-1 2p3\n4-4\n", lambda path: list(read_gold_alignments(path, one_based=True))),
}


def damage(content: bytes, chance: random.Random) -> bytes:
    """Cut, doubled, overwritten or with something in it that does not belong there."""
    for _ in range(chance.randint(1, 4)):
        first = chance.randrange(len(content) + 1)
        last = min(len(content), first + chance.randint(0, 20))
        middle = chance.choice([b"", content[first:last] * 3, chance.choice(NOISE), bytes([chance.randrange(256)])])
        content = content[:first] + middle + content[last:]
    return content


HTML = """<!DOCTYPE html><html lang="en"><head><title>Files</title><meta name="description" content="All files"></head>
<body><p>Open <b>the</b> file.<br>Then <code>wait</code></p><pre>x</pre><ul><li translate="no">A<li>B &amp; C</ul>
<script>if (a < b) {}</script><img alt="A house" src="a.png"></body></html>
"""
MARKDOWN = """---
title: Files
---
# Open *it*

Text with [a link](http://x.org "Title") and `code`.

- one
- two

| a | b |
| --- | --- |
| c | d |

```sh
ls
```
"""
XLIFF = """<?xml version="1.0"?><xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file
 source-language="en" target-language="ro" datatype="plaintext" original="a"><body>
<trans-unit id="1"><source>Open <g id="1">it</g></source>
<target/></trans-unit><trans-unit id="2" translate="no"><source>x</source></trans-unit></body></file></xliff>
"""
XLIFF2 = """<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="ro"><file id="f">
<unit id="1"><segment><source>Open <pc id="1">it</pc><ph id="2"/></source></segment></unit></file></xliff>
"""
PO = """# Comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=3; plural=n;\\n"

#: a.c:1
#, c-format
msgctxt "greeting"
msgid   "Hello %s"
msgstr  ""

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

#~ msgid "old"
#~ msgstr "vechi"
"""
QT = """<?xml version="1.0" encoding="utf-8"?><!DOCTYPE TS><TS version="2.1" language="ro"><context><name>A</name>
<message numerus="yes"><source>%n file(s)</source><translation type="unfinished"><numerusform/></translation></message>
<message><source>Open &amp; close</source><translation type="unfinished"></translation></message></context></TS>
"""
ANDROID = """<resources xmlns:xliff="urn:x"><string name="a">Don\\'t <b>open</b> <xliff:g id="n">%s</xliff:g></string>
<plurals name="p"><item quantity="one">%d file</item><item quantity="other">%d files</item></plurals>
<string-array name="l"><item>One</item><item>"Two"</item></string-array><!-- no --></resources>
"""
RESX = """<?xml version="1.0"?><root><resheader name="version"><value>2.0</value></resheader>
<data name="a" xml:space="preserve"><value>Open {0}</value><comment>c</comment></data></root>
"""
JSON = '{"a": {"b": "Open the file", "c": ["One", 2, null]}, "@b": {"description": "x"}, "n_one": "{{count}} file"}\n'
YAML = "en:\n  a: Open the file\n  b: 'It''s'\n  c: |\n    One\n    Two\n  d: \"x\\ty\"  # no\n  e: [A, B]\n"
PROPERTIES = "# c\na = Open {0}\\\n   the file\nb: caf\\u00e9\n! d\n\nc Two words\n"
STRINGS = '/* c */\n"a" = "Open \\"%@\\"";\n// d\nkey = "Two\\nlines";\n'
FLUENT = """# c
-brand = Alidade
a = Open { $name } in { -brand }
    .title = A title
b = { $n ->
    [one] { $n } file
   *[other] { $n } files
}
"""
SRT = "1\n00:00:01,000 --> 00:00:02,000\n<i>Hello</i> there\nyou\n\n2\n00:00:03,000 --> 00:00:04,000\n- Yes.\n- No.\n"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
DOCX = f"""<w:document {W}><w:body><w:p><w:r><w:t xml:space="preserve">Click </w:t></w:r><w:r><w:rPr><w:b/></w:rPr>
<w:t>here</w:t></w:r><w:r><w:br/><w:t>now.</w:t></w:r></w:p><w:p/></w:body></w:document>"""
ODT = """<office:document-content xmlns:office="urn:o" xmlns:text="urn:t"><office:body><text:h>Files</text:h><text:p>
Open <text:span text:style-name="T1">the</text:span><text:s text:c="2"/>file<text:line-break/>.</text:p></office:body>
</office:document-content>"""


def archive(name: str, text: str | bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, text)
    return packed.getvalue()


DOCUMENTS: dict[str, tuple[str, ...]] = {
    ".po": (PO,),
    ".pot": (PO.replace("charset=UTF-8", "charset=CHARSET"),),
    ".xlf": (XLIFF, XLIFF2),
    ".tmx": (TMX,),
    ".ts": (QT,),
    ".xml": (ANDROID,),
    ".resx": (RESX,),
    ".json": (
        JSON,
        '{"greeting": {"message": "Hello $n$", "description": "d", "placeholders": {"n": {"content": "$1"}}}}',
    ),
    ".arb": (JSON,),
    ".yml": (YAML,),
    ".properties": (PROPERTIES,),
    ".strings": (STRINGS,),
    ".ftl": (FLUENT,),
    ".srt": (SRT,),
    ".vtt": ("WEBVTT\n\nNOTE c\n\n" + SRT.replace(",000", ".000"),),
    ".html": (HTML,),
    ".md": (MARKDOWN,),
    ".txt": ("A paragraph of\ntwo lines.\n\n  Another. One more!\n",),
}
PACKED = {".docx": ("word/document.xml", DOCX), ".odt": ("content.xml", ODT)}
SAME = {".xliff", ".yaml", ".htm", ".xhtml", ".markdown"}
"""Other names for kinds that are damaged already."""
CATALOGUE = _write(
    [(b"", b"Content-Type: text/plain; charset=UTF-8\n"), (b"One", b""), (b"a\0b", b"c\0d"), (b"x\x04y", b"")]
)


def damaged_document(suffix: str, chance: random.Random) -> bytes:
    if suffix == ".mo":
        return damage(CATALOGUE, chance)
    if suffix not in PACKED:
        return damage(chance.choice(DOCUMENTS[suffix]).encode(), chance)
    name, text = PACKED[suffix]
    if chance.random() < 0.5:
        return damage(archive(name, text), chance)
    return archive(name, damage(text.encode(), chance))


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Neither long nor large."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {MOST_SECONDS} s for one file")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(MOST_SECONDS)
    try:
        with contextlib.suppress(AlidadeError):  # anything else is a crash
            yield
    finally:
        signal.alarm(0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MOST_MEGABYTES, f"{grown:.0f} MB for one file"


def test_every_kind_of_document_is_damaged() -> None:
    assert {*DOCUMENTS, *PACKED, ".mo", *SAME} == {*FORMATS}


@pytest.mark.parametrize("suffix", [*DOCUMENTS, *PACKED, ".mo"])
def test_a_damaged_document_is_read_or_refused_in_a_sentence(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"file{suffix}"
    for seed in range(NUM_FILES):
        path.write_bytes(damaged_document(suffix, random.Random(seed)))
        with bounded():
            read_and_fill(path)


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    text, read = READERS[name]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    read(path)
    for seed in range(NUM_FILES):
        path.write_bytes(damage(text.encode(), random.Random(seed)))
        with bounded():
            read(path)


def test_a_damaged_model_folder_is_loaded_or_refused_in_a_sentence(tmp_path: Path) -> None:
    whole = make_folder(tmp_path / "whole")
    files = sorted(path.name for path in whole.iterdir())
    for seed in range(NUM_FILES // 4):
        chance = random.Random(seed)
        folder = tmp_path / "damaged"
        shutil.copytree(whole, folder)
        victim = folder / chance.choice(files)
        victim.write_bytes(damage(victim.read_bytes(), chance))
        with bounded():
            load_engine(load_model_folder(folder))
        shutil.rmtree(folder)
