"""Whatever a file has, a reader gives a result or one clear sentence: documents, dictionaries, links, bitexts, folders.

Files that are right are damaged at random, with a seed, so that a failure comes back; what can still be read is also
written with every unit filled. No file may take long or much memory. `ALIDADE_FUZZ` takes another number of files for
each reader than the few that fit into a run of all tests (3,000 make 100,000 together).
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
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
from alidade.engine.system import load_engine
from alidade.model_folder import load_model_folder
from sample_files import CATALOGUE, DOCUMENTS, PACKED, SAME, TMX, archive
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
