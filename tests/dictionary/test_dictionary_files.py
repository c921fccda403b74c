from __future__ import annotations

import gc
import gzip
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alidade.dictionary.entries import make_entry
from alidade.dictionary.files import load_dictionary, parse_term, read_entries, read_sentence_terms, write_entries
from alidade.errors import AlidadeError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_tsv_has_source_and_target_and_what_else_is_known(tmp_path: Path) -> None:
    path = write(
        tmp_path / "terms.tsv",
        "# wanted translations\nstrong\tstark|kräftig\n\nNew York\tNew York\tignore\t2\t7\nC\\|D\ta\\|b|c\r\n",
    )
    assert list(read_entries(path)) == [
        make_entry("strong", ["stark", "kräftig"]),
        make_entry("New York", ["New York"], "ignore", 2, 7),
        make_entry("C\\|D", ["a|b", "c"]),
    ]


def test_a_line_of_names_puts_the_columns_in_order(tmp_path: Path) -> None:
    path = write(tmp_path / "terms.tsv", "sentence\ttarget\tsource\n3\tHund\tdog\n\tKatze\tcat\n")
    assert list(read_entries(path)) == [make_entry("dog", ["Hund"], sentence=3), make_entry("cat", ["Katze"])]


@pytest.mark.parametrize(
    ("name", "header", "languages"),
    [
        ("t.tsv", "Source\tTarget", None),
        ("t.tsv", "SOURCE TERM\tTarget_Term", None),
        ("t.csv", "term,translation", None),
        ("t.csv", "en,ro", None),
        ("t.csv", "EN-gb;ro_RO", ("en", "ro")),
        ("t.csv", "en,ro", ("en", "ro")),
        ("t.tsv", "English\tRomanian", None),
        ("t.csv", "English (UK),Romanian", ("en-GB", "ro")),
        ("t.csv", "term,ro", ("en", "ro")),
    ],
)
def test_the_names_that_people_give_to_columns(
    tmp_path: Path, name: str, header: str, languages: tuple[str, str] | None
) -> None:
    separator = next(mark for mark in "\t;," if mark in header)
    path = write(tmp_path / name, f"{header}\ndog{separator}câine\n")
    assert list(read_entries(path, languages=languages)) == [make_entry("dog", ["câine"])]


def test_columns_of_other_languages_and_notes_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "# terms\nRO,Notes,de,EN,Inflect\ncâine,an animal,Hund,dog,yes\n")
    assert list(read_entries(path, languages=("en", "ro"))) == [make_entry("dog", ["câine"], inflect=True)]
    assert list(read_entries(path, languages=("de", "en"))) == [make_entry("Hund", ["dog"], inflect=True)]


@pytest.mark.parametrize(
    ("line", "languages"),
    [
        ("it\tel", None),
        ("it\tel", ("en", "ro")),
        ("to\tla", None),
        ("no\tnu", None),
        ("de facto\tde facto", None),
        ("en route\ten route", ("en", "fr")),
    ],
)
def test_words_that_look_like_names_of_columns(tmp_path: Path, line: str, languages: tuple[str, str] | None) -> None:
    source, target = line.split("\t")
    path = write(tmp_path / "t.tsv", f"{line}\n")
    assert list(read_entries(path, languages=languages)) == [make_entry(source, [target])]


@pytest.mark.parametrize("name", ["t.tsv", "t.csv"])
def test_utf16_and_nul_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes("dog,\tHund\n".encode("utf-16-le"))
    with pytest.raises(AlidadeError, match=r"line 1: has NUL characters, so it is UTF-16 or no text; save .* as UTF-8"):
        list(read_entries(path))


def test_targets_may_forbid_or_keep_the_source(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", "dog\tHund|!Köter\ncat\t!Mieze\nAlidade\t=\nnot\t\\!|\\=|\\!=\n")
    entries = [
        make_entry("dog", ["Hund"], forbidden=["Köter"]),
        make_entry("cat", forbidden=["Mieze"]),
        make_entry("Alidade", is_kept=True),
        make_entry("not", ["!", "=", "!="]),
    ]
    assert list(read_entries(path)) == entries
    for name in ("written.tsv", "written.csv"):
        write_entries(tmp_path / name, entries)
        assert list(read_entries(tmp_path / name)) == entries
    assert parse_term("dog=Hund|!Köter") == entries[0]
    assert parse_term("Alidade==") == entries[2]


def test_paths_may_be_texts_and_one_may_stand_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", "dog\tHund\n")
    for given in (path, str(path), [path], [str(path)], (str(path),)):
        assert len(load_dictionary(given)) == 1


@pytest.mark.parametrize("given", [3, None, [None], [["t.tsv"]], {"dog": "Hund"}.items()])
def test_what_is_no_path_is_refused(given: Any) -> None:
    with pytest.raises(AlidadeError, match="dictionary files are given by their paths, not by"):
        load_dictionary(given)


def test_what_is_no_term_is_refused() -> None:
    assert len(load_dictionary(terms="dog=Hund")) == 1  # forgiven
    with pytest.raises(AlidadeError, match="a term is a text"):
        load_dictionary(terms=[("dog", "Hund")])  # type: ignore[list-item]


@pytest.mark.parametrize("separator", [",", ";"])
def test_csv_with_quotes_and_either_separator(tmp_path: Path, separator: str) -> None:
    path = write(tmp_path / "terms.csv", f'source{separator}target\n"strong, ""very"""{separator}stark\n')
    assert list(read_entries(path)) == [make_entry('strong, "very"', ["stark"])]


def test_packed_files_and_several_at_once(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("dog\tHund\n")
    second = write(tmp_path / "b.csv", "cat,Katze\n")
    dictionary = load_dictionary([tmp_path / "a.tsv.gz", second], ["strong=powerful", "a=b|c=d"])
    assert [str(entry) for entry in dictionary.entries] == [
        "dog = Hund",
        "cat = Katze",
        "strong = powerful",
        "a = b | c=d",
    ]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("t.tsv", "dog\tHund\ncat\n", 't.tsv, line 2: "cat" has no translation'),
        ("t.tsv", "dog\t\n", 't.tsv, line 1: the entry for "dog" has no translation'),
        ("t.tsv", "\tHund\n", "t.tsv, line 1: an entry needs a source"),
        ("t.tsv", "dog\tHund\tloud\n", 't.tsv, line 1: case is "exact" or "ignore", not "loud"'),
        ("t.tsv", "dog\tHund\texact\ttwo\n", 't.tsv, line 1: occurrence "two" is not a number'),
        ("t.tsv", "a\tb\tc\td\te\tf\tg\n", "t.tsv, line 1: 7 fields, but at most 6 have a meaning"),
        ("t.tsv", "a\tb\t\t\t\tmaybe\n", 't.tsv, line 1: inflect is "yes" or "no", not "maybe"'),
        ("t.tsv", "source\ttarget\tocurrence\n", 'unknown column "ocurrence"; did you mean "occurrence"?'),
        ("t.tsv", "source\ttarget\ttarget\n", 'column "target" is there twice'),
        ("t.csv", 'dog,Hund\n\ncat,"Kat"ze\n', "t.csv, line 3: not valid CSV: "),
        ("t.docx", "", 't.docx: a dictionary is a .tsv, .csv or .tbx file, and ".docx" is none of them'),
    ],
)
def test_a_malformed_line_names_file_and_line(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(AlidadeError) as error:
        list(read_entries(path))
    assert complaint in str(error.value)


def test_bytes_that_are_not_utf8_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_bytes(b"dog\tHund\nk\xf6nig\tking\n")
    with pytest.raises(AlidadeError, match=r"t\.tsv, line 2: not UTF-8"):
        list(read_entries(path))


@pytest.mark.parametrize("text", ["strong", "=x", "strong=", " = "])
def test_a_malformed_term_shows_how_to_write_it(text: str) -> None:
    with pytest.raises(AlidadeError, match='write it as source=target, for example "strong=powerful"'):
        parse_term(text)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    entries = [
        make_entry("strong", ["stark", "a|b"], "ignore", 2, 9),
        make_entry("New York", ["Neu York"]),
    ]
    assert write_entries(tmp_path / "terms.tsv", entries) == 2
    assert list(read_entries(tmp_path / "terms.tsv")) == entries


def test_term_lists_of_single_sentences(tmp_path: Path) -> None:
    path = write(tmp_path / "terms.tsv", "0\t7\tloud\tlaut\t\t\n1\t9\tred\trot\tnew car\tneues Auto\n")
    assert list(read_sentence_terms(path)) == [
        make_entry("loud", ["laut"], sentence=7),
        make_entry("red", ["rot"], sentence=9),
        make_entry("new car", ["neues Auto"], sentence=9),
    ]
    with pytest.raises(AlidadeError, match="line 1: expected a running number"):
        list(read_sentence_terms(write(path, "loud\tlaut\n")))


@pytest.fixture
def _collector_at_rest() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_collector_at_rest")  # as it is while a dictionary is loaded
def test_a_hundred_thousand_entries_load_quickly(tmp_path: Path) -> None:
    """Less than a second on a free machine, some ten times what it takes to split the lines."""
    path = write(tmp_path / "terms.tsv", "".join([f"word{i} of phrase\tWort{i}|Form{i}\n" for i in range(100_000)]))
    shares = []
    for _ in range(3):  # a busy machine is slower now and then
        start = time.process_time()
        dictionary = load_dictionary([path])
        loaded = time.process_time()
        fields = [line.split("\t") for line in path.read_text().splitlines()]
        by_hand = {source.strip().casefold(): [form.strip() for form in target.split("|")] for source, target in fields}
        shares.append((loaded - start) / (time.process_time() - loaded))
        assert len(dictionary) == len(by_hand) == 100_000
    assert min(shares) < 25
