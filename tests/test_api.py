"""The public names, and what happens when they are called wrongly or from everywhere at once."""

from __future__ import annotations

import concurrent.futures
import copy
import os
import pickle
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

import alidade
from alidade import AlidadeError, ArgumentError, Dictionary, Translator
from alidade.config import SearchSettings
from alidade.dictionary.files import load_dictionary
from alidade.model_folder import load_model_folder
from alidade.translator import SearchChanges
from small_folders import make_folder

TEXTS = ["ba be", "bi bo bu da de", "", "di", "do du fa fe fi fo fu ga ge"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("folder") / "model")


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return Translator(folder, batch_size=2)


def test_the_public_names() -> None:
    assert sorted(alidade.__all__) == [
        "AlidadeError",
        "ArgumentError",
        "Dictionary",
        "MissingPackageError",
        "ModelError",
        "Translation",
        "Translator",
        "__version__",
        "align",
        "score",
    ]
    for name in alidade.__all__:
        assert getattr(alidade, name) is not None
        assert name in dir(alidade)
    with pytest.raises(AttributeError):
        _ = alidade.nothing


def test_importing_is_quick_and_imports_nothing_large() -> None:
    code = "import sys, alidade; print([m for m in ('torch', 'numpy', 'sacrebleu', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_search_setting_can_be_given_by_name() -> None:
    assert typing.get_type_hints(SearchChanges).keys() == SearchSettings.model_fields.keys()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "required"}, "mode 'required': .*did you mean \"require\""),
        ({"mode": None}, "mode None"),
        ({"mode": 3}, "mode 3"),
        ({"num_best": 0}, "num_best 0"),
        ({"num_best": "2"}, "num_best '2'"),
        ({"dictionary": 7}, "dictionary: a Dictionary, the path of a file or a mapping"),
        ({"dictionary": ["x.tsv"]}, "not list"),
        ({"dictionary": {"ba": 3}}, "'ba': 3 is no entry"),
        ({"dictionary": {"ba": ""}}, 'the entry for "ba" has no translation'),
        ({"dictionary": "nowhere.tsv"}, "nowhere.tsv: no such file"),
        ({"prefix": 3}, "a text is needed, not a value of type int"),
    ],
)
def test_wrong_options_are_told_in_a_sentence(translator: Translator, options: Any, message: str) -> None:
    with pytest.raises(AlidadeError, match=message):
        translator.translate("ba", **options)


def test_wrong_texts_are_told_in_a_sentence(translator: Translator) -> None:
    wrong: Any
    for wrong, message in ((None, "not None"), (b"ba", "type bytes"), (["ba"], "type list")):
        with pytest.raises(ArgumentError, match=message):
            translator.translate(wrong)
    with pytest.raises(ArgumentError, match="this is one text; `translate` takes one"):
        translator.translate_all("Open")
    with pytest.raises(ArgumentError, match="not None"):
        translator.translate_all(typing.cast("Any", None))
    with pytest.raises(ArgumentError, match="this is one text"):
        translator.translate_lines("Open")
    with pytest.raises(ArgumentError, match="1 prefixes for 2 texts"):
        translator.translate_all(["ba", "be"], prefixes=["ga"])
    with pytest.raises(ArgumentError, match="batch_size 0"):
        Translator(translator.model, batch_size=0)
    with pytest.raises(ArgumentError, match="model: the path of a model folder is needed"):
        Translator(typing.cast("Any", 3))


def test_a_dictionary_may_be_given_in_many_ways(translator: Translator, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("bo\tga|ge\n")
    ways: list[Any] = [
        load_dictionary(terms=["bo=ga|ge"]),
        {"bo": "ga|ge"},
        {"bo": ["ga", "ge"]},
        tmp_path / "terms.tsv",
        str(tmp_path / "terms.tsv"),
    ]
    found = [translator.translate("bi bo bu", dictionary=way, mode="require") for way in ways]
    assert [[str(match.entry) for match in one.matches] for one in found] == [["bo = ga | ge"]] * 5
    assert len({one.text for one in found}) == 1
    plain = translator.translate("bi bo bu")
    no_entries: tuple[dict[str, str], Dictionary] = ({}, Dictionary(()))
    for empty in no_entries:
        assert translator.translate("bi bo bu", dictionary=empty) == plain


def test_a_dictionary_file_that_has_changed_is_read_again(translator: Translator, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("bo\tga\n")
    assert "ga" in translator.translate("bo", dictionary=terms, mode="require").text.split()
    terms.write_text("bo\tlu li\n")
    assert "lu li" in translator.translate("bo", dictionary=terms, mode="require").text


def test_a_stream_gives_the_same_as_a_list(translator: Translator) -> None:
    texts = TEXTS * 9
    together = translator.translate_all(texts, num_best=2)
    num_read = 0

    def lines() -> typing.Iterator[str]:
        nonlocal num_read
        for text in texts:
            num_read += 1
            yield text

    stream = translator.translate_lines(lines(), num_best=2)
    assert num_read == 0
    first = next(stream)
    assert num_read == 16, "eight batches of two"
    for one, other in zip([first, *stream], together, strict=True):
        assert [t.text for t in (one, *one.alternatives)] == [t.text for t in (other, *other.alternatives)]
        assert one.alignment == other.alignment


def test_a_streams_prefixes_must_be_as_many(translator: Translator) -> None:
    done = list(translator.translate_lines(["ba", "be"], prefixes=["ga", "ge"]))
    assert [one.text.split()[0] for one in done] == ["ga", "ge"]
    with pytest.raises(ArgumentError, match="there are 1 prefixes, but line 2 needs one"):
        list(translator.translate_lines(["ba", "be"], prefixes=["ga"]))
    with pytest.raises(ArgumentError, match="more prefixes than the 2 lines"):
        list(translator.translate_lines(["ba", "be"], prefixes=["ga", "ge", "gi"]))


def test_several_threads_may_translate(translator: Translator) -> None:
    expected = [translator.translate(text, dictionary={"bo": "ga"}) for text in TEXTS]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(translator.translate, text, dictionary={"bo": "ga"}) for text in TEXTS * 6]
        for number, future in enumerate(futures):
            assert future.result().text == expected[number % len(TEXTS)].text


def test_a_translator_can_be_pickled_and_copied(translator: Translator) -> None:
    for other in (pickle.loads(pickle.dumps(translator)), copy.copy(translator), copy.deepcopy(translator)):
        assert (other.settings, other.batch_size) == (translator.settings, translator.batch_size)
        assert other.translate("bi bo bu") == translator.translate("bi bo bu")
    greedy = translator.with_settings(translator.settings.model_copy(update={"beam_size": 1}))
    assert (greedy.settings.beam_size, translator.settings.beam_size) == (1, 5)
    assert greedy.system is translator.system


FORKS = """
import os, sys
from alidade import Translator
translator = Translator(sys.argv[1], threads=2)
texts = ["ba be bi bo bu da de di do du fa fe fi fo fu ga ge"] * 40
text = translator.translate_all(texts)[0].text
child = os.fork()
if child == 0:
    os._exit(0 if translator.translate_all(texts)[0].text == text else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_can_translate_too(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FORKS, folder], env=os.environ | {"OMP_NUM_THREADS": "2"}, timeout=60)
    assert done.returncode == 0


def test_a_given_folder_is_left_as_it_is(folder: Path) -> None:
    model = load_model_folder(folder)
    before = model.description.model_dump_json(), model.search.model_dump_json()
    assert Translator(model, beam_size=2).translate("ba").text
    assert (model.description.model_dump_json(), model.search.model_dump_json()) == before


def test_more_translations_than_the_beam_holds_widen_it(translator: Translator) -> None:
    best = translator.translate("bi bo bu da de", num_best=12)
    texts = [one.text for one in (best, *best.alternatives)]
    assert len(texts) == len(set(texts)) == 12


def test_align_and_score_take_a_path_or_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [("ba be", "ga"), ("", "")]
    (by_path, _), (by_translator, _) = alidade.align(pairs, folder), alidade.align(pairs, Translator(folder))
    assert by_path == by_translator
    monkeypatch.setenv("ALIDADE_MODEL", str(folder))
    assert alidade.score(pairs[:1])[0].score == alidade.score(pairs[:1], str(folder))[0].score
    with pytest.raises(ArgumentError, match="a pair of texts"):
        alidade.align(typing.cast("Any", ["ba be"]), folder)
