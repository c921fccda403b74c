"""Whatever a file holds, a reader gives a result or one clear sentence: dictionaries, links, bitexts, model folders.

Files that are right are damaged at random, with a seed, so that a failure comes back. `ALIDADE_FUZZ` takes another
number of files for each reader than the few that fit into a run of all tests.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from alidade import AlidadeError
from alidade.alignment.statistical import read_alignments, read_gold_alignments
from alidade.config import BitextSettings
from alidade.corpus.bitext import read_bitext
from alidade.dictionary.files import load_dictionary
from alidade.engine.system import load_engine
from alidade.model_folder import load_model_folder
from small_folders import make_folder

NUM_FILES = int(os.environ.get("ALIDADE_FUZZ", "200"))
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


READERS: dict[str, tuple[str, Reader]] = {
    "terms.tsv": (TSV, read_terms),
    "terms.csv": (TSV.replace("\t", ","), read_terms),
    "terms.tbx": (TBX, read_terms),
    "memory.tmx": (TMX, read_pairs),
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


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    text, read = READERS[name]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    read(path)
    for seed in range(NUM_FILES):
        path.write_bytes(damage(text.encode(), random.Random(seed)))
        with contextlib.suppress(AlidadeError):  # anything else is a crash
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
        with contextlib.suppress(AlidadeError):
            load_engine(load_model_folder(folder))
        shutil.rmtree(folder)
