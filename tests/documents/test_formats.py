"""Each kind of file: its units are found, translations go where they belong, nothing else changes by a byte."""

from __future__ import annotations

import contextlib
import gettext
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alidade.documents.document import Document, Filled
from alidade.documents.formats import FORMATS, format_of
from alidade.documents.mo import _write
from alidade.errors import AlidadeError

LANGUAGES = ("en", "ro")
TRANSLATIONS = {
    "Open the file": "Deschide fișierul",
    "Save": "Salvează",
    "Hello %s": "Salut %s",
    "%d file": "%d fișier",
    "%d files": "%d fișiere",
    "Don't save": "N-ai s-o salvezi d'oh",
    'Say "yes"': 'Spune "da"',
    "One\nTwo": "Unu\nDoi",
}


def translate(name: str, content: str | bytes) -> str:
    """A file with every unit of a few known texts translated as a person would."""
    raw = content.encode() if isinstance(content, str) else content
    document = format_of(Path(name)).read(Path(name), raw, LANGUAGES)
    assert isinstance(document, Document)
    assert document.render({}) == raw
    filled = {
        number: Filled(tuple([TRANSLATIONS[text] for text in unit.sources]), "memory")
        for number, unit in enumerate(document.units)
        if not unit.is_translated
    }
    return document.render(filled).decode(document.encoding)


PO = """\
# Comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=3; plural=n;\\n"

#: a.c:1
#, c-format
msgctxt "greeting"
msgid   "Hello %s"
msgstr  {hello}

msgid "%d file"
msgid_plural "%d files"
{files}
msgid ""
"One\\n"
"Two"
{lines}
msgid "Save"
msgstr "Gata"

#~ msgid "old"
#~ msgstr "vechi"
"""


def test_po() -> None:
    before = PO.format(hello='""', files='msgstr[0] ""\nmsgstr[1] ""\n', lines='msgstr ""\n')
    after = PO.format(
        hello='"Salut %s"',
        files='msgstr[0] "%d fișier"\nmsgstr[1] "%d fișiere"\nmsgstr[2] "%d fișiere"\n',
        lines='msgstr ""\n"Unu\\n"\n"Doi"\n',
    ).replace("msgstr  ", "msgstr ")
    assert translate("a.po", before) == after


def test_po_marks_what_a_machine_did() -> None:
    text = '#: a.c:1\n#, c-format\nmsgid "Hello %s"\nmsgstr ""\n\n#. note\nmsgid "Save"\nmsgstr ""\n'
    document = format_of(Path("a.po")).read(Path("a.po"), text.encode(), LANGUAGES)
    filled = {0: Filled(("Salut %s",), "machine", 0.5), 1: Filled(("Salvează",), "machine", 0.25)}
    assert document.render(filled).decode() == (
        "# machine translation, confidence 0.50\n#: a.c:1\n#, fuzzy, c-format\n"
        'msgid "Hello %s"\nmsgstr "Salut %s"\n\n'
        '# machine translation, confidence 0.25\n#. note\n#, fuzzy\nmsgid "Save"\nmsgstr "Salvează"\n'
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.po", '#, c-format\nmsgid "Save"\nmsgstr ""\n'),
        ("b.po", '# of a person\nmsgid "Save"\nmsgstr ""\n'),
        (
            "a.xlf",
            '<xliff version="1.2"><body><trans-unit id="1">\n  <source>Save</source>\n</trans-unit></body></xliff>',
        ),
        (
            "a.xliff",
            '<xliff version="2.0"><file><unit id="1"><segment><source>Save</source></segment></unit></file></xliff>',
        ),
        (
            "a.ts",
            '<TS language="ro"><message>\n  <source>Save</source>\n  <translation type="unfinished"/>\n</message></TS>',
        ),
    ],
)
def test_what_a_machine_did_waits_for_a_review_and_after_it_no_more(name: str, text: str) -> None:
    def read(content: bytes) -> Document:
        document = format_of(Path(name)).read(Path(name), content, LANGUAGES)
        assert isinstance(document, Document)
        return document

    by_person = read(text.encode()).render({0: Filled(("Salvează",), "person")})
    assert read(by_person).units[0].is_reviewed
    by_machine = read(text.encode()).render({0: Filled(("Salvează",), "machine", 0.5)})
    assert by_machine.count(b"machine translation, confidence 0.50") == 1
    document = read(by_machine)
    assert document.units[0].is_translated
    assert not document.units[0].is_reviewed
    again = document.render({0: Filled(("Salvează",), "machine", 0.25)})
    assert again == by_machine.replace(b"0.50", b"0.25")
    assert document.render({0: Filled(("Salvează",), "person")}) == by_person


def test_a_po_message_that_is_done_is_no_longer_fuzzy() -> None:
    text = '#: a.c:1\n#{flags}\n#| msgid "Safe"\nmsgid "Save"\nmsgstr "Sigur"\n'
    for flags, rest in [(", fuzzy", None), (", fuzzy, c-format", ", c-format"), (", c-format, fuzzy", ", c-format")]:
        document = format_of(Path("a.po")).read(Path("a.po"), text.format(flags=flags).encode(), LANGUAGES)
        assert not document.units[0].is_reviewed
        written = document.render({0: Filled(("Salvează",), "person")}).decode()
        assert written == f'#: a.c:1\n{"" if rest is None else f"#{rest}{chr(10)}"}msgid "Save"\nmsgstr "Salvează"\n'


def test_po_wraps_long_texts_and_keeps_line_ends() -> None:
    document = format_of(Path("a.po")).read(Path("a.po"), b'msgid "Save"\r\nmsgstr ""\r\n', LANGUAGES)
    written = document.render({0: Filled(("cuvânt " * 30,), "memory")}).decode()
    assert all(len(line) <= 80 for line in written.split("\r\n"))
    assert written.count("\r\n") == written.count("\n")


def test_xliff_1() -> None:
    text = """<?xml version="1.0"?>
<xliff version="1.2"><file source-language="en"{lang}><body>
  <trans-unit id="1">
    <source>Open the file</source>{one}
  </trans-unit>
  <trans-unit id="2"><source>Save</source><target>Gata</target></trans-unit>
  <trans-unit id="3" translate="no"><source>Name</source></trans-unit>
  <trans-unit id="4"><source>Save</source><target{four}</trans-unit>
</body></file></xliff>
"""
    note = '<note from="alidade">from memory</note>'
    one = f'\n    <target state="translated">Deschide fișierul</target>\n    {note}'
    expected = text.format(lang="", one=one, four=f' state="translated">Salvează</target>{note}')
    assert translate("a.xlf", text.format(lang="", one="", four="/>")) == expected.replace(
        "<file ", '<file target-language="ro" '
    )


def test_xliff_2() -> None:
    text = (
        '<xliff version="2.0" srcLang="en" trgLang="ro"><file id="f"><unit id="1"><segment><source>Save</source>'
        "</segment></unit></file></xliff>"
    )
    assert translate("a.xliff", text) == (
        '<xliff version="2.0" srcLang="en" trgLang="ro"><file id="f"><unit id="1"><notes><note category="alidade">from '
        'memory</note></notes><segment state="translated"><source>Save</source><target>Salvează</target>'
        "</segment></unit></file></xliff>"
    )


def test_android() -> None:
    text = """<resources>
    <!-- kept -->
    <string name="a">Don\\'t save</string>
    <string name="b" translatable="false">No</string>
    <string name="c">@string/a</string>
    <plurals name="n">
        <item quantity="one">%d file</item>
        <item quantity="other">%d files</item>
    </plurals>
</resources>"""
    expected = text.replace("Don\\'t save", "N-ai s-o salvezi d\\'oh").replace("%d files", "%d fișiere")
    expected = expected.replace('<item quantity="one">%d file<', '<item quantity="one">%d fișier<')
    few = '\n        <item quantity="few">%d fișiere</item>'
    assert translate("strings.xml", text) == expected.replace("fișier</item>", f"fișier</item>{few}")


def test_android_quotes_and_sections() -> None:
    text = """<resources>
    <string name="a">"  {}  "</string>
    <string name="b"><![CDATA[<a href="x?y&z">{}</a> & \\"more\\"]]></string>
</resources>"""
    document = format_of(Path("strings.xml")).read(Path("strings.xml"), text.format("Don't", "Go").encode(), LANGUAGES)
    assert [unit.sources for unit in document.units] == [("  Don't  ",), ('<a href="x?y&z">Go</a> & "more"',)]
    filled = {0: Filled(("  N'o  ",)), 1: Filled(('<a href="x?y&z">Mergi</a> & "mai"',))}
    assert document.render(filled).decode() == text.format("N\\'o", "Mergi").replace("more", "mai")


def test_qt() -> None:
    text = (
        '<TS version="2.1" language="ro"><context><message><source>Save</source><translation{}</message></context></TS>'
    )
    assert translate("a.ts", text.format(' type="unfinished"/>')) == text.format(">Salvează</translation>")


def test_resx_leaves_the_names_of_controls_and_reads_sections() -> None:
    text = (
        '<root><data name=">>button1.Name"><value>button1</value></data>'
        '<data name="a"><value><![CDATA[{}]]></value></data></root>'
    )
    assert translate("a.resx", text.format("Save")) == text.format("Salvează")


def test_resx() -> None:
    text = '<root><data name="a"><value>{}</value></data><data name="b" type="x"><value>Save</value></data></root>'
    assert translate("a.resx", text.format("Open the file")) == text.format("Deschide fișierul")


def test_json_keeps_layout_keys_and_metadata() -> None:
    text = '{ "Save" :"Save",\n\n "n": [1, "Say \\"yes\\"", {"x": "Hello %s"}], "@Save": {"description": "Save"}}'
    expected = text.replace(':"Save"', ':"Salvează"').replace('Say \\"yes\\"', 'Spune \\"da\\"')
    assert translate("a.json", text) == expected.replace("Hello", "Salut")


def test_chrome_messages_have_text_in_one_place_only() -> None:
    text = '{"a": {"message": "Save", "description": "Hello %s"}}'
    assert translate("messages.json", text) == text.replace("Save", "Salvează")


def test_yaml() -> None:
    text = "en:  # English\n  a: Save\n  b: \"Open the file\"\n  c: 'Don''t save'\n  d: [Save, 5, yes]\n"
    expected = "ro:  # English\n  a: Salvează\n  b: \"Deschide fișierul\"\n  c: 'N-ai s-o salvezi d''oh'\n"
    expected += "  d: [Salvează, 5, yes]\n"
    assert translate("en.yml", text) == expected


def test_plurals_of_rails_and_i18next_get_what_the_target_language_needs() -> None:
    text = "en:\n  files:\n    one: '%d file'\n{}    other: \"%d files\"\n  other: Save\n"
    expected = text.replace("en:", "ro:").replace("file'", "fișier'").replace('files"', 'fișiere"')
    assert translate("en.yml", text.format("")) == expected.replace("Save", "Salvează").format(
        '    few: "%d fișiere"\n'
    )
    json = '{\n  "n_one": "%d file",\n  @"n_other": "%d files",\n  "an_other": "Save"\n}'
    expected = json.replace('file"', 'fișier"').replace('files"', 'fișiere"').replace("Save", "Salvează")
    assert translate("en.json", json.replace("@", "")) == expected.replace("@", '"n_few": "%d fișiere",\n  ')


def test_blocks_of_yaml() -> None:
    text = "a: |\n    {}\n\n    Save\nb: >-\n  {}\n\n# end\n"
    document = format_of(Path("a.yml")).read(Path("a.yml"), text.format("One", "One\n  Two").encode(), LANGUAGES)
    assert [unit.sources for unit in document.units] == [("One\n\nSave\n",), ("One Two",)]
    written = document.render({0: Filled(("Unu\n\nSave\n",)), 1: Filled(("Unu doi",))}).decode()
    assert written == text.format("Unu", "Unu doi")
    anchored = "a: &x {}\nb: *x\nc: |2\r\n     {}\r\n   x\r\n"
    document = format_of(Path("a.yml")).read(Path("a.yml"), anchored.format("One", "Two").encode(), LANGUAGES)
    written = document.render({0: Filled(("Unu",)), 1: Filled(("   Doi\n x\n",))}).decode()
    assert written == anchored.format("Unu", "Doi")


def test_properties() -> None:
    text = "# Save\na = Save\n! Save\nb:Open \\\n   the file\nc=\nd=One\\nTwo\n"
    expected = "# Save\na = Salvează\n! Save\nb:Deschide fișierul\nc=\nd=Unu\\nDoi\n"
    assert translate("a.properties", text) == expected
    assert translate("a.properties", "x=\\u0021\ny=Save\n").endswith("Salveaz\\u0103\n")


def test_fluent() -> None:
    text = """# Save
save = Save
    .title = Open the file
n = { $n ->
    [one] %d file
   *[other] %d files
 }
-x = { $y }
"""
    expected = text.replace("= Save", "= Salvează").replace("Open the file", "Deschide fișierul")
    expected = expected.replace("%d files", "%d fișiere").replace("%d file\n", "%d fișier\n    [few] %d fișiere\n")
    assert translate("a.ftl", text) == expected


def test_text_around_a_choice_of_fluent_goes_into_its_variants() -> None:
    text = "x = Close { $n ->\n    [one] one tab\n   *[other] { $n } tabs\n } now?\n"
    document = format_of(Path("a.ftl")).read(Path("a.ftl"), text.encode(), LANGUAGES)
    [unit] = document.units
    assert unit.sources == ("Close one tab now?", *["Close { $n } tabs now?"] * 2)
    assert unit.is_plural_form == (False, True, True)
    written = document.render({0: Filled(("una", "două", "multe"))}).decode()
    assert written == "x = { $n ->\n    [one] una\n    [few] două\n   *[other] multe\n }\n"
    text = "x =\n    { $n ->\n        [one] %d file\n       *[other] %d files\n    }\n"
    expected = text.replace("%d files", "%d fișiere").replace("%d file\n", "%d fișier\n        [few] %d fișiere\n")
    assert translate("a.ftl", text) == expected
    for other in (
        "x = { PLATFORM() ->\n    [macos] Save\n   *[other] Save\n }\n",
        "x = { $n ->\n   *[other] { $m ->\n   *[a] Save\n }\n }\n",
    ):
        assert translate("a.ftl", other) == other.replace("Save", "Salvează")


def test_apple_strings_in_both_encodings() -> None:
    text = '/* "Save" = "Save"; */\n"Save" = "Say \\"yes\\"";\n'
    expected = text.replace('Say \\"yes\\"', 'Spune \\"da\\"')
    assert translate("a.strings", text) == expected
    assert translate("a.strings", "\ufeff".encode("utf-16-le") + text.encode("utf-16-le")) == "\ufeff" + expected


def test_subtitles() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\n{}\n\n2\n00:00:03,000 --> 00:00:04,000\n{}\n"
    assert translate("a.srt", text.format("One\nTwo", "Save")) == text.format("Unu\nDoi", "Salvează")
    assert translate("a.srt", text.format("{\\an8}Save", "")) == text.format("{\\an8}Salvează", "")
    crowded = "1\n00:00:01,000 --> 00:00:02,000\nSave\n2\n00:00:03,000 --> 00:00:04,000\nSave"
    assert translate("a.srt", crowded) == crowded.replace("Save", "Salvează")
    text = "WEBVTT\n\nNOTE Save\n\n00:01.000 --> 00:02.000 align:start\n{}\n"
    assert translate("a.vtt", text.format("Save")) == text.format("Salvează")


def test_html() -> None:
    text = """<!DOCTYPE html>
<html lang="en"><head><title>Save</title><script>"Save"</script><style>p { x: y }</style></head>
<body><!-- Save --><p class="x">Save</p>
<p translate="no">Keep</p><pre>Keep</pre>
<ul><li>Open the file<li>Save</ul><img alt="Save" src="Save">
</body></html>
"""
    expected = (
        text.replace("<title>Save", "<title>Salvează")
        .replace('"x">Save', '"x">Salvează')
        .replace('lang="en"', 'lang="ro"')
    )
    expected = expected.replace("Open the file", "Deschide fișierul").replace("<li>Save", "<li>Salvează")
    assert translate("a.html", text) == expected.replace('alt="Save"', 'alt="Salvează"')


def test_html_leaves_attributes_inside_a_sentence_to_the_sentence() -> None:
    text = b'<p><img alt="Save"> Open the file</p><p title="Save">One <img alt="Save"></p>'
    units = format_of(Path("a.html")).read(Path("a.html"), text, LANGUAGES).units
    assert [unit.sources[0] for unit in units] == ['<img alt="Save"> Open the file', "Save", 'One <img alt="Save">']


def test_html_gives_sentences_with_their_inline_tags() -> None:
    text = b"<p>Click <a href='x'>here</a> now.<br>And <b>there</b>.</p>"
    [unit] = format_of(Path("a.html")).read(Path("a.html"), text, LANGUAGES).units
    assert unit.sources == ("Click <a href='x'>here</a> now.<br>And <b>there</b>.",)


def test_markdown() -> None:
    text = """---
title: Save
---
# Save

Open the file

    code Save

```
Save
```

- Save
- Open the file

| Save | Save |
|------|------|
| x | Save |
"""
    expected = (
        text.replace("# Save", "# Salvează")
        .replace("Open the file", "Deschide fișierul")
        .replace("- Save", "- Salvează")
    )
    head = expected.partition("| Save | Save |")[0]
    document = format_of(Path("a.md")).read(Path("a.md"), text.encode(), LANGUAGES)
    assert document.render({}) == text.encode()
    filled = {n: Filled((TRANSLATIONS.get(unit.sources[0], "x"),), "memory") for n, unit in enumerate(document.units)}
    written = document.render(filled).decode()
    assert written.startswith(head)
    assert "| x | Salvează |" in written


def test_markdown_inline_marks_become_tags_and_come_back() -> None:
    text = "Click **here** to [open *it*](http://x.org/a_b) with `cp a b` and ![a](b.png), 2 * 3 * 4.\n"
    [unit] = format_of(Path("a.md")).read(Path("a.md"), text.encode(), LANGUAGES).units
    document = format_of(Path("a.md")).read(Path("a.md"), text.encode(), LANGUAGES)
    assert "**" not in unit.sources[0]
    assert "http" not in unit.sources[0]
    assert document.render({0: Filled(unit.sources, "memory")}).decode() == text


def test_plain_text() -> None:
    assert (
        translate("a.txt", "Save\n\n  Open the file\n\n\nOne\nTwo\n")
        == "Salvează\n\n  Deschide fișierul\n\n\nUnu\nDoi\n"
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.po", 'msgid "x"\nmsgstr "y\n', "line 2"),
        ("a.xlf", "<xliff>\n<file>\n</xliff>", "line 3"),
        ("a.json", '{"a": 1,\n]', "line 2"),
        ("a.yml", "a: [1\nb: 2", "line 2"),
        ("a.xml", "<html></html>", "no catalogue"),
        ("a.txt", b"ok\n\xff\n", "line 2"),
        ("a.doc", "x", "known are"),
        ("a.json", "[" * 100_000, "deep"),
        ("a.xlf", "<a>" * 1000, "deep"),
        ("a.ftl", "a = b\n\n=\n", "line 3"),
    ],
)
def test_a_broken_file_is_named_with_its_line(name: str, content: str | bytes, message: str) -> None:
    raw = content.encode() if isinstance(content, str) else content
    with pytest.raises(AlidadeError, match=message):
        format_of(Path(name)).read(Path(name), raw, LANGUAGES)


def test_xml_entities_are_not_expanded() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    bomb += "<resources><string>Hi &b;</string></resources>"
    [unit] = format_of(Path("a.xml")).read(Path("a.xml"), bomb.encode(), LANGUAGES).units
    assert unit.sources == ("Hi &b;",)
    outside = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><resources><string>Hi &a;</string></resources>'
    [unit] = format_of(Path("a.xml")).read(Path("a.xml"), outside.encode(), LANGUAGES).units
    assert unit.sources == ("Hi &a;",)


PIECES = (
    *(
        "<",
        ">",
        "</",
        "/>",
        "<p>",
        "<b>",
        "</p>",
        '"',
        "'",
        "\\",
        "\n",
        "\n\n",
        "msgid ",
        "msgstr ",
        "#, ",
        "{",
        "}",
        "[",
    ),
    *(
        "]",
        ":",
        ",",
        "=",
        "a",
        "Hello",
        "é",
        "-->",
        "<!--",
        "&amp;",
        "00:01.000 --> 00:02.000\n",
        "- ",
        "# ",
        "`",
        "**",
    ),
    *("| a | b |\n", "<resources>", "</resources>", "<string>", "</string>", "<xliff>", "<source>", "\x00", "\ufeff"),
    *("---\n", "<![CDATA[", "]]>"),
)
FRAGMENTS = st.lists(st.sampled_from(PIECES), max_size=25)


@pytest.mark.parametrize("suffix", sorted(FORMATS))
@given(st.one_of(FRAGMENTS.map(lambda parts: "".join(parts).encode()), st.binary(max_size=200)))
@settings(max_examples=60, deadline=None)
def test_anything_gives_units_or_one_clear_sentence(suffix: str, content: bytes) -> None:
    path = Path(f"file{suffix}")
    try:
        document = format_of(path).read(path, content, LANGUAGES)
    except AlidadeError:
        return
    assert document.render({}) == content
    with contextlib.suppress(AlidadeError):  # texts inside texts
        document.render({number: Filled(unit.sources, "machine", 0.5) for number, unit in enumerate(document.units)})


def test_a_template_learns_its_language() -> None:
    text = (
        'msgid ""\nmsgstr ""\n"Language: \\n"\n"Content-Type: text/plain; charset=CHARSET\\n"\n'
        '"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n\nmsgid "Save"\nmsgstr ""\n'
    )
    written = translate("a.pot", text)
    assert '"Language: ro\\n"' in written
    assert "charset=UTF-8" in written
    assert "nplurals=3; plural=(n==1" in written


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.po",
            'msgid ""\nmsgstr "Content-Type: text; charset=ENCODING\\n"\n\n# ä\nmsgid "Open the file"\nmsgstr ""\n',
        ),
        (
            "a.resx",
            '<?xml version="1.0" encoding="ENCODING"?>\n<root><!--ä--><data><value>Open the file</value></data></root>',
        ),
        ("a.html", '<!-- ä --><meta charset="ENCODING"><p>Open the file</p>'),
    ],
)
def test_a_file_whose_encoding_lacks_a_letter_becomes_utf_8(name: str, text: str) -> None:
    document = format_of(Path(name)).read(
        Path(name), text.replace("ENCODING", "ISO-8859-2").encode("iso-8859-2"), LANGUAGES
    )
    assert document.encoding == "ISO-8859-2"
    [old, new] = [document.render({0: Filled((word,), "memory")}) for word in ("Salvează", "fișierul")]
    assert old.decode("iso-8859-2").count("ISO-8859-2") == old.decode("iso-8859-2").count("Salvează") == 1
    assert new.decode().count("UTF-8") == new.decode().count("fișierul") == new.decode().count("ä") == 1
    assert "ISO" not in new.decode()
    assert not document.changes_encoding({0: Filled(("Salvează",))})
    assert document.changes_encoding({0: Filled(("fișierul",))})


def test_mo_is_written_so_that_gettext_reads_it() -> None:
    def entries(messages: dict[str, str]) -> bytes:
        pairs = sorted((key.encode(), value.encode()) for key, value in messages.items())
        return _write(pairs)

    header = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=3; plural=n>1;\n"
    content = entries({"": header, "Save": "", "menu\x04Open the file": "x", "%d file\0%d files": ""})
    document = format_of(Path("a.mo")).read(Path("a.mo"), content, LANGUAGES)
    assert document.render({}) == content
    filled = {
        number: Filled(tuple([TRANSLATIONS[text] for text in unit.sources]))
        for number, unit in enumerate(document.units)
    }
    catalogue = gettext.GNUTranslations(io.BytesIO(document.render(filled)))
    assert catalogue.gettext("Save") == "Salvează"
    assert catalogue.pgettext("menu", "Open the file") == "Deschide fișierul"
    assert catalogue.ngettext("%d file", "%d files", 5) == "%d fișiere"
    legacy = entries({"": header.replace("UTF-8", "ISO-8859-2"), "Open the file": ""})
    document = format_of(Path("a.mo")).read(Path("a.mo"), legacy, LANGUAGES)
    catalogue = gettext.GNUTranslations(io.BytesIO(document.render({0: Filled(("Deschide fișierul",))})))
    assert catalogue.gettext("Open the file") == "Deschide fișierul"
    assert catalogue.charset() == "UTF-8"
