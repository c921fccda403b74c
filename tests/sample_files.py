"""A small file of every kind that can be translated."""

from __future__ import annotations

import io
import zipfile

from alidade.documents.mo import _write

TMX = """<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>The <bpt i="1"/>house</seg></tuv><tuv xml:lang="ro"><seg>Casa &amp; curtea</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Open the file</seg></tuv></tu></body></tmx>
"""
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
SAME = {".xliff": ".xlf", ".yaml": ".yml", ".htm": ".html", ".xhtml": ".html", ".markdown": ".md"}
"""Other names for the same kinds."""
CATALOGUE = _write(
    [(b"", b"Content-Type: text/plain; charset=UTF-8\n"), (b"One", b""), (b"a\0b", b"c\0d"), (b"x\x04y", b"")]
)


def sample(suffix: str) -> bytes:
    """A whole file of a kind."""
    suffix = SAME.get(suffix, suffix)
    if suffix == ".mo":
        return CATALOGUE
    return archive(*PACKED[suffix]) if suffix in PACKED else DOCUMENTS[suffix][0].encode()
