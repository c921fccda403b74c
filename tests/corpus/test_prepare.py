"""The whole preparation, on small bitexts made here."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from alidade.config import BpeDropoutSettings, PrepareConfig
from alidade.corpus import parts
from alidade.corpus.arrays import Layout
from alidade.corpus.prepare import Preparation
from alidade.corpus.store import PreparedCorpus, Split
from alidade.errors import AlidadeError
from alidade.io import read_json, write_json

NOUNS = {"dog": "Hund", "cat": "Kater", "man": "Mann", "tree": "Baum", "king": "König", "fish": "Fisch"}
VERBS = {"sees": "sieht", "loves": "liebt", "hears": "hört", "finds": "findet"}
PAIRS = [
    (f"The {one} {verb} 1,000 {two}s.", f"Der {NOUNS[one]} {VERBS[verb]} 1,000 {NOUNS[two]}e.")
    for one in NOUNS
    for two in NOUNS
    for verb in VERBS
]


def write_pairs(folder: Path, name: str, pairs: list[tuple[str, str]]) -> dict[str, str]:
    (folder / f"{name}.en").write_text("".join(f"{source}\n" for source, _ in pairs))
    (folder / f"{name}.de").write_text("".join(f"{target}\n" for _, target in pairs))
    return {"source": str(folder / f"{name}.en"), "target": str(folder / f"{name}.de")}


def config(folder: Path, pairs: list[tuple[str, str]] = PAIRS, **settings: Any) -> PrepareConfig:
    values = {
        "corpus": folder / "corpus",
        "source_language": "en",
        "target_language": "de",
        "bitext": [write_pairs(folder, "train", pairs)],
        "subwords": {"vocabulary_size": 320},
        "aligner": {"kind": "none"},
        **settings,
    }
    return PrepareConfig.model_validate(values)


def prepare(settings: PrepareConfig, workers: int = 1) -> tuple[PreparedCorpus, Preparation]:
    preparation = Preparation(settings, workers, Console(file=io.StringIO()))
    return preparation.run(), preparation


def skipped(preparation: Preparation) -> list[str]:
    return [name for name, result in preparation.results.items() if result.was_skipped]


def test_text_survives_exactly(tmp_path: Path) -> None:
    corpus, _ = prepare(config(tmp_path, dev=write_pairs(tmp_path, "dev", PAIRS[:7])))
    assert [corpus.source_encoding(corpus.train, i).text for i in range(len(corpus.train))] == [s for s, _ in PAIRS]
    assert [corpus.target_encoding(corpus.train, i).text for i in range(len(corpus.train))] == [t for _, t in PAIRS]
    assert corpus.dev is not None
    assert list(zip(corpus.dev.source_texts(), corpus.dev.target_texts(), strict=True)) == PAIRS[:7]
    assert not corpus.train.has_positions
    assert corpus.source_subwords.model == corpus.target_subwords.model


def test_separate_vocabularies(tmp_path: Path) -> None:
    corpus, _ = prepare(config(tmp_path, subwords={"vocabulary_size": 300, "joint": False}))
    assert corpus.source_subwords.model != corpus.target_subwords.model


def test_the_pieces_of_another_corpus(tmp_path: Path) -> None:
    first, _ = prepare(config(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    pairs = [("The dog sings.", "Der Hund singt."), ("The king sings.", "Der König singt.")]
    settings = config(other, pairs, subwords={"like": first.folder})
    second, _ = prepare(settings)
    assert second.source_subwords.fingerprint == first.source_subwords.fingerprint
    assert second.target_subwords.fingerprint == first.target_subwords.fingerprint
    assert second.target_encoding(second.train, 0).text == "Der Hund singt."
    _, preparation = prepare(settings)
    assert "subwords" in skipped(preparation)
    prepare(config(tmp_path, subwords={"vocabulary_size": 300}))
    third, preparation = prepare(settings)
    assert skipped(preparation) == ["clean"], "the other corpus has new pieces"
    assert third.source_subwords.fingerprint != first.source_subwords.fingerprint


def test_pieces_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match=r"there is no subwords\.source\.model; name a folder that"):
        prepare(config(tmp_path, subwords={"like": tmp_path / "nowhere"}))


def test_a_missing_aligner_is_noticed_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "eflomal", None)
    with pytest.raises(AlidadeError, match="needs the package eflomal"):
        prepare(config(tmp_path, aligner={"kind": "eflomal"}))
    assert not (tmp_path / "corpus").exists()


def test_eflomal_finds_the_words(tmp_path: Path) -> None:
    pytest.importorskip("eflomal")
    """Nearly every noun of the target points at its own translation, in train and dev."""
    dev = write_pairs(tmp_path, "dev", [("The king finds 1,000 cats.", "Der König findet 1,000 Katere.")])
    for attempt in range(3):  # eflomal takes no seed, and about one drawing in ten stops short of it
        aligner = {"kind": "eflomal", "unit": "words"}
        corpus, _ = prepare(config(tmp_path, dev=dev, aligner=aligner, corpus=tmp_path / f"corpus-{attempt}"))
        if share_of_words_found(corpus) > 0.9:
            return
    pytest.fail("in none of three drawings")


def share_of_words_found(corpus: PreparedCorpus) -> float:
    """How many target pieces point at the word of their own place."""
    assert corpus.dev is not None
    right = total = 0
    for split in (corpus.train, corpus.dev):
        for i in range(len(split)):
            source, target = corpus.source_encoding(split, i), corpus.target_encoding(split, i)
            positions = split.positions(i)
            assert positions.min() >= 1
            assert positions.max() <= len(source)
            for piece, position in enumerate(positions):
                # word for word here: Der König sieht 1,000 Hund e -> The king sees 1,000 dogs
                right += source.word_of_piece[position - 1] == target.word_of_piece[piece]
                total += 1
    return right / total


def test_two_processes_give_the_same_corpus(tmp_path: Path) -> None:
    pairs = PAIRS * 30  # more than a chunk
    links = tmp_path / "links"
    links.write_text("0-0 1-1 2-2 3-3 4-4 5-5\n" * len(pairs))
    aligner = {"kind": "pharaoh", "train_links": str(links)}
    one, _ = prepare(config(tmp_path, pairs, aligner=aligner, corpus=tmp_path / "one"))
    two, _ = prepare(config(tmp_path, pairs, aligner=aligner, corpus=tmp_path / "two"), workers=2)
    assert len(two.train) == len(pairs)
    assert one.fingerprint == two.fingerprint
    assert two.train.positions(4000).tolist() == one.train.positions(4000).tolist()


def test_stages_are_skipped_when_nothing_changed(tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.write_text("0-0\n" * len(PAIRS))
    aligner = {"kind": "pharaoh", "train_links": str(links)}
    first, preparation = prepare(config(tmp_path, aligner=aligner))
    assert skipped(preparation) == []
    second, preparation = prepare(preparation.config)
    assert skipped(preparation) == ["clean", "subwords", "encode", "positions"]
    assert second.fingerprint == first.fingerprint
    links.write_text("1-1\n" * len(PAIRS))
    third, preparation = prepare(preparation.config)
    assert skipped(preparation) == ["clean", "subwords", "encode"]
    assert third.fingerprint != first.fingerprint
    smaller = {**preparation.config.model_dump(), "subwords": {"vocabulary_size": 310}}
    _, preparation = prepare(PrepareConfig.model_validate(smaller))
    assert skipped(preparation) == ["clean"]
    (tmp_path / "train.de").write_text((tmp_path / "train.de").read_text().replace("Hund", "Pudel"))
    changed, preparation = prepare(preparation.config)
    assert skipped(preparation) == []
    assert "Pudel" in changed.target_encoding(changed.train, 0).text


def test_a_new_vocabulary_needs_no_new_alignment_of_words(tmp_path: Path) -> None:
    pytest.importorskip("eflomal")
    on_words = {"kind": "eflomal", "unit": "words"}
    prepare(config(tmp_path, aligner=on_words))
    settings = config(tmp_path, PAIRS[::-1], aligner=on_words, subwords={"vocabulary_size": 300})
    _, preparation = prepare(settings)
    assert skipped(preparation) == []
    _, preparation = prepare(
        PrepareConfig.model_validate({**settings.model_dump(), "subwords": {"vocabulary_size": 310}})
    )
    assert skipped(preparation) == ["clean", "align"]


def test_weights_caps_and_the_account(tmp_path: Path) -> None:
    twice = {**write_pairs(tmp_path, "a", [*PAIRS[:10], ("", "leer"), ("same", "same")]), "weight": 2}
    few = {**write_pairs(tmp_path, "b", PAIRS[10:30]), "cap": 5}
    corpus, preparation = prepare(config(tmp_path, bitext=[twice, few]))
    assert len(corpus.train) == 25
    assert list(corpus.train.source_texts())[:4] == [PAIRS[0][0]] * 2 + [PAIRS[1][0]] * 2
    first, second = preparation.results["clean"].report["bitexts"]
    assert first["dropped"] == {"a side is empty": 1, "both sides are the same": 1}
    assert (first["read"], first["kept"], first["written"]) == (12, 10, 20)
    assert (second["read"], second["kept"], second["written"]) == (5, 5, 5)


def test_links_of_other_aligners_follow_their_raw_pairs(tmp_path: Path) -> None:
    """Dropped, repeated and duplicate pairs do not shift the lines of a Pharaoh file."""
    pairs = [PAIRS[0], ("", "leer"), PAIRS[1], PAIRS[0], PAIRS[2]]
    (tmp_path / "links").write_text("0-0\n9-9\n1-0\n9-9\n2-0\n")
    settings = config(
        tmp_path,
        bitext=[{**write_pairs(tmp_path, "a", pairs), "weight": 2}],
        cleaning={"drop_duplicates": True},
        aligner={"kind": "pharaoh", "train_links": str(tmp_path / "links")},
    )
    corpus, _ = prepare(settings)
    first_words = [
        corpus.train.source_words(i)[corpus.train.positions(i)[0] - 1].item() for i in range(len(corpus.train))
    ]
    assert first_words == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ("0-0\n" * 3 + "0-99\n" + "0-0\n" * 140, r"links, line 4: link 0-99 is outside the pair"),
        ("0-0\n" * 5 + "0:0\n" + "0-0\n" * 138, r'links, line 6: "0:0" is not a link'),
        ("0-0\n", r"links has 1 lines but the raw bitext has 144 pairs"),
    ],
)
def test_bad_links_are_named(tmp_path: Path, links: str, message: str) -> None:
    (tmp_path / "links").write_text(links)
    settings = config(tmp_path, aligner={"kind": "pharaoh", "train_links": str(tmp_path / "links")})
    with pytest.raises(AlidadeError, match=message):
        prepare(settings)
    assert not Layout(settings.corpus).manifest.exists()
    assert not list(settings.corpus.rglob("*.partial"))


def test_pharaoh_needs_its_file_and_others_refuse_it(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match=r"needs aligner\.train_links"):
        prepare(config(tmp_path, aligner={"kind": "pharaoh"}))
    with pytest.raises(AlidadeError, match="train_links"):
        prepare(config(tmp_path, aligner={"kind": "none", "train_links": "x"}))


def test_pieces_can_be_the_units(tmp_path: Path) -> None:
    pytest.importorskip("eflomal")
    corpus, _ = prepare(config(tmp_path, PAIRS[:20], aligner={"kind": "eflomal", "unit": "pieces"}))
    flat = np.concatenate([corpus.train.positions(i) for i in range(20)])
    assert flat.min() >= 1


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "the corpus is empty: the bitexts have no pair"),
        ([("", "x")] * 3, r"all 3 pairs were dropped \(3 a side is"),
    ],
)
def test_an_empty_corpus_is_refused(tmp_path: Path, pairs: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(AlidadeError, match=message):
        prepare(config(tmp_path, pairs))
    assert not list((tmp_path / "corpus").glob("*.txt"))


def test_an_empty_dev_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match=r"dev\.de, line 2: empty"):
        prepare(config(tmp_path, dev=write_pairs(tmp_path, "dev", [PAIRS[0], ("x", " ")])))


def test_chinese_without_spaces(tmp_path: Path) -> None:
    pairs = [("我喜欢北京。", "I like Beijing."), ("他喜欢足球，我们也喜欢。", "He likes football, and so do we.")] * 5
    settings = config(tmp_path, pairs, source_language="zh", target_language="en")
    corpus, _ = prepare(settings)
    encoding = corpus.source_encoding(corpus.train, 1)
    assert encoding.text == pairs[1][0]
    assert [word.text for word in encoding.words] == ["他", "喜欢", "足球", "，", "我们", "也", "喜欢", "。"]


def spelled(corpus: PreparedCorpus, split: Split) -> list[tuple[str, str]]:
    return [(corpus.source_encoding(split, i).text, corpus.target_encoding(split, i).text) for i in range(len(split))]


def test_copies_of_bpe_dropout_say_the_same(tmp_path: Path) -> None:
    bpe_dropout = {"copies": 3, "dropout": 0.3}
    corpus, _ = prepare(config(tmp_path, bpe_dropout=bpe_dropout))
    assert corpus.training_split is corpus.bpe_dropout
    assert spelled(corpus, corpus.training_split) == [pair for pair in PAIRS for _ in range(3)]
    assert spelled(corpus, corpus.train) == PAIRS
    segmentations = {tuple(corpus.training_split.source(i)) for i in range(3)}
    assert len(segmentations) == 3, "other pieces every time"
    assert not corpus.training_split.has_positions


def test_positions_of_bpe_dropout_stay_in_their_words(tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.write_text("0-0 1-1 2-2 3-3 4-4 5-5\n" * len(PAIRS))
    aligner = {"kind": "pharaoh", "train_links": str(links)}
    corpus, _ = prepare(config(tmp_path, aligner=aligner, bpe_dropout={"copies": 2, "dropout": 0.5}))
    for i in range(len(corpus.training_split)):
        source_words, target_words = corpus.training_split.source_words(i), corpus.training_split.target_words(i)
        assert source_words[corpus.training_split.positions(i) - 1].tolist() == target_words.tolist()


def test_bpe_dropout_is_the_same_every_time(tmp_path: Path) -> None:
    pairs = PAIRS * 9  # more than a chunk
    settings = {"bpe_dropout": {"copies": 2}, "aligner": {"kind": "none"}}
    one, _ = prepare(config(tmp_path, pairs, **settings, corpus=tmp_path / "one"))
    two, _ = prepare(config(tmp_path, pairs, **settings, corpus=tmp_path / "two"), workers=2)
    assert one.fingerprint == two.fingerprint


def test_bpe_dropout_can_be_taken_back(tmp_path: Path) -> None:
    settings = config(tmp_path, bpe_dropout={"copies": 1})
    with_copies, _ = prepare(settings)
    without, preparation = prepare(settings.model_copy(update={"bpe_dropout": BpeDropoutSettings()}))
    assert without.training_split is without.train
    assert without.fingerprint != with_copies.fingerprint
    assert "encode" in skipped(preparation)
    again, preparation = prepare(settings)
    assert "bpe_dropout" in skipped(preparation)
    assert again.fingerprint == with_copies.fingerprint


def test_only_merges_can_be_left_out(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bpe_dropout leaves out merges, which"):
        config(tmp_path, subwords={"kind": "unigram"}, bpe_dropout={"copies": 1})


def arrays_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "corpus").glob("*.npy"))}


def links_file(folder: Path, num_pairs: int = len(PAIRS)) -> dict[str, str]:
    (folder / "links").write_text(f"{' '.join(f'{i}-{i}' for i in range(4))}\n" * num_pairs)
    return {"kind": "pharaoh", "train_links": str(folder / "links")}


def test_parts_become_the_same_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, in_parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, in_parts):
        folder.mkdir()
        prepare(config(folder, aligner=links_file(folder), dev=write_pairs(folder, "dev", PAIRS[:7])))
        monkeypatch.setattr(parts, "PART_PAIRS", 10)
    assert arrays_of(in_parts) == arrays_of(whole)
    assert not list((in_parts / "corpus" / "stages").glob("*.parts"))


@pytest.mark.parametrize("stage", ["clean", "encode", "positions"])
def test_a_killed_preparation_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    monkeypatch.setattr(parts, "PART_PAIRS", 10)

    def config_with_duplicates(folder: Path) -> PrepareConfig:
        again = [*PAIRS[5:50], ("A new pair.", "Ein neues Paar.")]
        return config(
            folder,
            bitext=[write_pairs(folder, "train", PAIRS), {**write_pairs(folder, "again", again), "weight": 2}],
            aligner=links_file(folder, len(PAIRS) + len(again)),
            cleaning={"drop_duplicates": True},
        )

    settings = config_with_duplicates(tmp_path)
    done = settings.corpus / "stages" / f"{stage}.parts" / "train" / "00003" / "done.json"
    written: list[Path] = []

    def write_until_killed(path: Path, values: Any) -> None:
        write_json(path, values)
        written.append(path)
        if path == done:
            raise KeyboardInterrupt

    monkeypatch.setattr(parts, "write_json", write_until_killed)
    with pytest.raises(KeyboardInterrupt):
        prepare(settings)
    written.clear()
    prepare(settings)
    assert next(path.parent.name for path in written if f"{stage}.parts" in str(path)) == "00004"
    whole = tmp_path / "whole"
    whole.mkdir()
    prepare(config_with_duplicates(whole))
    assert arrays_of(tmp_path) == arrays_of(whole)
    records = [Layout(folder / "corpus").stages / "clean.json" for folder in (tmp_path, whole)]
    first, second = [read_json(record)["report"] for record in records]
    assert first == second
    assert first["written"] == len(PAIRS) + 2


def test_parts_of_other_inputs_are_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "encode.parts"
    parts.keep_parts(folder, "one")
    (folder / "00000").mkdir()
    parts.keep_parts(folder, "one")
    assert (folder / "00000").exists()
    parts.keep_parts(folder, "two")
    assert not (folder / "00000").exists()
