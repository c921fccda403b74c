from __future__ import annotations

from pathlib import Path

import pytest

from alidade.dictionary.entries import Entry, make_entry
from alidade.dictionary.files import read_entries, write_entries
from alidade.errors import AlidadeError

OLD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE martif SYSTEM "TBXBasiccoreStructV02.dtd">
<martif type="TBX-Basic" xml:lang="en"><text><body>
<termEntry id="1">
  <descrip type="subjectField">wind</descrip>
  <langSet xml:lang="en-GB"><tig><term>gale</term></tig><tig><term>strong wind</term></tig></langSet>
  <langSet xml:lang="de">
    <tig><term>Sturm</term><termNote type="administrativeStatus">preferredTerm-admn-sts</termNote></tig>
    <tig><term>Wind &amp; Wetter</term></tig>
    <ntig><termGrp><term>Windsbraut</term>
      <termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></termGrp></ntig>
  </langSet>
  <langSet xml:lang="fr"><tig><term>tempête</term></tig></langSet>
</termEntry>
<termEntry id="2"><langSet xml:lang="en"><tig><term>calm</term></tig></langSet></termEntry>
</body></text></martif>
"""
NEW = """<?xml version="1.0" encoding="UTF-8"?>
<tbx style="dct" type="TBX-Basic" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2"
     xmlns:basic="http://www.tbxinfo.net/ns/basic"><text><body>
<conceptEntry id="1">
  <langSec xml:lang="en"><termSec><term>gale</term></termSec></langSec>
  <langSec xml:lang="de"><termSec><term>Sturm</term></termSec>
    <termSec><term>Orkan</term><basic:administrativeStatus>supersededTerm-admn-sts</basic:administrativeStatus>
    </termSec></langSec>
</conceptEntry>
</body></text></tbx>
"""


def read(tmp_path: Path, text: str, languages: tuple[str, str] | None = ("en", "de")) -> list[Entry]:
    path = tmp_path / "terms.tbx"
    path.write_text(text, encoding="utf-8")
    return list(read_entries(path, languages=languages))


def test_every_source_term_allows_all_wanted_target_terms_of_its_concept(tmp_path: Path) -> None:
    entries = read(tmp_path, OLD)
    assert entries == [
        make_entry(source, ["Sturm", "Wind & Wetter"], forbidden=["Windsbraut"]) for source in ("gale", "strong wind")
    ]
    assert entries[0].origin.endswith("terms.tbx, line 4")


def test_any_two_languages_in_any_direction(tmp_path: Path) -> None:
    assert read(tmp_path, OLD, ("fr", "en")) == [make_entry("tempête", ["gale", "strong wind"])]


def test_the_version_of_2019(tmp_path: Path) -> None:
    assert read(tmp_path, NEW) == [make_entry("gale", ["Sturm"], forbidden=["Orkan"])]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    entries = [
        make_entry("gale", ["Sturm", 'Wind & "Wetter" <stark>'], forbidden=["Orkan"]),
        make_entry("calm", forbidden=["Ruhe"]),
    ]
    path = tmp_path / "terms.tbx"
    assert write_entries(path, entries, languages=("en", "de")) == 2
    assert list(read_entries(path, languages=("en", "de"))) == entries
    assert next(read_entries(path, languages=("de", "en"))) == make_entry("Sturm", ["gale"])


def test_tbx_refuses_what_it_cannot_say(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match="a TBX file names its languages"):
        write_entries(tmp_path / "t.tbx", [])
    with pytest.raises(AlidadeError, match="for one sentence or occurrence only"):
        write_entries(tmp_path / "t.tbx", [make_entry("a", ["b"], sentence=1)], languages=("en", "de"))
    assert not list(tmp_path.iterdir())


def test_a_bomb_of_entities_does_not_go_off(tmp_path: Path) -> None:
    declarations = "".join([f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(20)])
    with pytest.raises(AlidadeError, match="declares the entity"):
        read(tmp_path, f'<!DOCTYPE x [<!ENTITY e0 "boom">{declarations}]><x>&e20;</x>')
    with pytest.raises(AlidadeError, match="declares the entity"):
        read(tmp_path, '<!DOCTYPE x [<!ENTITY % a SYSTEM "http://localhost/x">%a;]><x/>')


@pytest.mark.parametrize(
    ("text", "languages", "complaint"),
    [
        (OLD, None, "say which is the source and which the target"),
        (OLD, ("en", "ro"), 'has no terms in "ro"; its languages: de, en, en-GB, fr'),
        (OLD.replace("</langSet>", "", 1), ("en", "de"), "line 14: not valid XML: mismatched tag"),
        (OLD[:300], ("en", "de"), "not valid XML"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', ("en", "de"), 'line 1: declares the entity "a"'),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///x">]><x>&a;</x>', ("en", "de"), 'declares the entity "a"'),
    ],
)
def test_bad_files_say_what_is_wrong(
    tmp_path: Path, text: str, languages: tuple[str, str] | None, complaint: str
) -> None:
    with pytest.raises(AlidadeError) as error:
        read(tmp_path, text, languages)
    assert complaint in str(error.value)
