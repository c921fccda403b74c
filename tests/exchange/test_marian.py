"""Releases of Marian: read whole, with the numbers of a forward pass by hand, or refused in a sentence."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
import yaml
from typer.testing import CliRunner

from alidade.cli import app
from alidade.config import TrainConfig, TransformerSettings, load_config
from alidade.errors import AlidadeError
from alidade.exchange.importing import import_model
from alidade.model_folder import load_model_folder
from alidade.models.batch import Batch
from alidade.models.system import load_system
from alidade.text.vocabulary import BOS, EOS
from alidade.translator import Translator
from foreign_models import Arrays, D, H, make_release, random_weights, sentences


def read(model: Path, output: Path, **options: Any) -> Path:
    import_model(model, output, source_language="en", target_language="de", **options)
    return output


def forward_by_hand(weights: Arrays, source: list[int], target: list[int], *, pre_norm: bool) -> npt.NDArray[Any]:
    """Logits, (T, V), as Marian computes them: one sentence, no caches, no batches."""

    def embed(words: list[int], *, is_target: bool) -> npt.NDArray[Any]:
        x = weights["Wemb"][words] * np.sqrt(D)
        if is_target:
            x = np.concatenate([np.zeros((1, D)), x])
        rates = 10000.0 ** (-np.arange(D // 2) / (D // 2 - 1))
        angles = np.arange(len(x))[:, None] * rates
        return np.asarray(x + np.concatenate([np.sin(angles), np.cos(angles)], axis=1))

    def norm(x: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6)
        suffix = "_pre" if pre_norm and "top" not in name else ""
        return np.asarray(scaled * weights[f"{name}_ln_scale{suffix}"] + weights[f"{name}_ln_bias{suffix}"])

    def attend(x: npt.NDArray[Any], memory: npt.NDArray[Any], prefix: str, *, is_causal: bool) -> npt.NDArray[Any]:
        q, k, v = (
            (part @ weights[f"{prefix}_W{letter}"] + weights[f"{prefix}_b{letter}"]).reshape(-1, H, D // H)
            for letter, part in zip("qkv", (x, memory, memory), strict=True)
        )
        energies = np.einsum("thd,shd->hts", q, k) / np.sqrt(D // H)
        if is_causal:
            energies += np.triu(np.full(energies.shape[1:], -np.inf), 1)
        attention = np.exp(energies - energies.max(-1, keepdims=True))
        attention /= attention.sum(-1, keepdims=True)
        context = np.einsum("hts,shd->thd", attention, v).reshape(-1, D)
        return np.asarray(context @ weights[f"{prefix}_Wo"] + weights[f"{prefix}_bo"])

    def feed(x: npt.NDArray[Any], prefix: str) -> npt.NDArray[Any]:
        hidden = x @ weights[f"{prefix}_W1"] + weights[f"{prefix}_b1"]
        hidden = np.maximum(hidden, 0) if pre_norm else hidden / (1 + np.exp(-hidden))
        return np.asarray(hidden @ weights[f"{prefix}_W2"] + weights[f"{prefix}_b2"])

    def sublayer(x: npt.NDArray[Any], name: str, work: Any) -> npt.NDArray[Any]:
        return x + work(norm(x, name)) if pre_norm else norm(x + work(x), name)

    def run(x: npt.NDArray[Any], stack: str, depth: int, memory: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        for layer in range(1, depth + 1):
            prefix = f"{stack}_l{layer}"
            is_causal = memory is not None
            x = sublayer(
                x, f"{prefix}_self_Wo", lambda y, p=prefix, c=is_causal: attend(y, y, f"{p}_self", is_causal=c)
            )
            if memory is not None:
                x = sublayer(
                    x, f"{prefix}_context_Wo", lambda y, p=prefix: attend(y, memory, f"{p}_context", is_causal=False)
                )
            x = sublayer(x, f"{prefix}_ffn_ffn", lambda y, p=prefix: feed(y, f"{p}_ffn"))
        return norm(x, f"{stack}_top") if pre_norm else x

    states = run(embed([*source, 0], is_target=False), "encoder", 2, None)
    features = run(embed(target, is_target=True), "decoder", 1, states)
    return np.asarray(features @ weights["Wemb"].T + weights["decoder_ff_logit_out_b"])


@pytest.mark.parametrize("pre_norm", [False, True])
def test_logits_are_those_of_a_forward_pass_by_hand(tmp_path: Path, pre_norm: bool) -> None:
    release = make_release(tmp_path / "release", pre_norm=pre_norm)
    folder = load_model_folder(read(release, tmp_path / "ours"))
    pieces = yaml.load((release / "opus.vocab.yml").read_text(), yaml.BaseLoader)
    row_of = {piece: int(row) for piece, row in pieces.items()}
    source = folder.source_subwords.encode("the old man opens it's door, no!")
    target = folder.target_subwords.encode("der alt Mann öffnet Tür.")
    theirs = [[row_of[piece] for piece in side.pieces] for side in (source, target)]
    expected = forward_by_hand(random_weights(len(row_of), pre_norm=pre_norm), *theirs, pre_norm=pre_norm)
    ours_in = torch.tensor([[BOS, *target.ids]])
    batch = Batch(
        torch.tensor([[BOS, *source.ids, EOS]]),
        ours_in,
        torch.full_like(ours_in, EOS),
        ours_in,
        ours_in,
        ours_in.numel(),
    )
    lexical: Any = load_system(folder).lexical
    with torch.no_grad():
        found = lexical.output(lexical(batch)).numpy()
    ours = list(range(EOS, len(folder.target_subwords)))
    rows = [row_of[folder.target_subwords.piece(piece)] for piece in ours]
    np.testing.assert_allclose(found[:, ours], expected[:, rows], atol=1e-4, rtol=0)


def test_what_a_release_says_of_itself(tmp_path: Path) -> None:
    release = make_release(tmp_path / "release")
    folder = load_model_folder(read(release, tmp_path / "ours"))
    assert folder.search.beam_size == 6
    assert folder.search.length_normalisation == 0.6
    assert folder.search.stopping == "shrinking"
    assert folder.description.normalisation.moses_punctuation
    assert "no" in folder.source_subwords.spelling_ids
    assert not list(tmp_path.rglob("ran"))


def test_where_decoder_yml_says_nothing_marian_decides(tmp_path: Path) -> None:
    release = make_release(tmp_path / "release")
    (release / "decoder.yml").write_text(yaml.dump({"models": ["opus.npz"]}))
    search = load_model_folder(read(release, tmp_path / "ours")).search
    assert (search.beam_size, search.length_normalisation) == (12, 0.0)


def test_a_zip_file_is_read_as_its_folder_is(tmp_path: Path) -> None:
    release = make_release(tmp_path / "release")
    with zipfile.ZipFile(tmp_path / "release.zip", "w") as archive:
        for file in release.iterdir():
            archive.write(file, f"opus/{file.name}")
    first, second = (
        load_model_folder(read(model, tmp_path / name)).weights()
        for model, name in ((release, "one"), (tmp_path / "release.zip", "two"))
    )
    assert first.keys() == second.keys()
    assert all((weight == second[name]).all() for name, weight in first.items())


def test_the_command(tmp_path: Path) -> None:
    release = make_release(tmp_path / "release")
    arguments = ["import", str(release), "--output", str(tmp_path / "ours")]
    arguments += ["--source-language", "en", "--target-language", "de"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert "en to de" in result.stderr
    (tmp_path / "train.toml").write_text(result.stdout)
    config = load_config(TrainConfig, tmp_path / "train.toml")
    before = load_model_folder(tmp_path / "ours").description.lexical
    assert isinstance(before, TransformerSettings)
    assert isinstance(config.lexical, TransformerSettings)
    assert config.lexical.conventions == before.conventions
    assert config.training.init_from == tmp_path / "ours"
    translation = Translator(tmp_path / "ours").translate(sentences("en", 1)[0], dictionary={"man": "Mann"})
    assert translation.text


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("type", "s2s"),
        ("transformer-decoder-autoreg", "rnn"),
        ("transformer-tied-layers", [1, 1]),
        ("transformer-train-position-embeddings", True),
        ("transformer-no-projection", True),
        ("transformer-postprocess", "dar"),
        ("transformer-ffn-depth", 3),
        ("input-types", ["class", "sequence"]),
        ("right-left", True),
    ],
)
def test_an_option_that_is_not_supported_is_named(tmp_path: Path, option: str, value: object) -> None:
    release = make_release(tmp_path / "release", {option: value})
    with pytest.raises(AlidadeError, match=option):
        read(release, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_a_weight_without_a_place_is_refused(tmp_path: Path) -> None:
    release = make_release(tmp_path / "release", more={"encoder_l1_self_gate": np.zeros((1, D))})
    with pytest.raises(AlidadeError, match="encoder_l1_self_gate belongs to an option"):
        read(release, tmp_path / "ours")


def test_damaged_releases(tmp_path: Path) -> None:
    release = make_release(tmp_path / "release")
    before = {file.name: file.read_bytes() for file in release.iterdir()}

    def assert_refused(message: str) -> None:
        with pytest.raises(AlidadeError, match=message):
            read(release, tmp_path / "ours")
        assert not (tmp_path / "ours").exists()
        for name, content in before.items():
            (release / name).write_bytes(content)

    model = release / "opus.npz"
    for share in (0.0, 0.1, 0.5, 0.9, 0.999):
        model.write_bytes(before["opus.npz"][: int(len(before["opus.npz"]) * share)])
        assert_refused(r"opus\.npz: damaged")
    with (release / "opus.vocab.yml").open("a") as file:
        file.write("more: 9999\n")
    assert_refused("numbered from 0")
    number = len(before["opus.vocab.yml"].splitlines())
    with (release / "opus.vocab.yml").open("a") as file:
        file.write(f"more: {number}\n")
    assert_refused("the vocabulary has .* pieces, but Wemb has")
    (release / "opus.vocab.yml").write_text("[1, 2")
    assert_refused("not valid YAML")
    (release / "opus.vocab.yml").write_text("!!python/object/apply:os.system ['touch ran']")
    assert_refused("a YAML mapping is needed")
    (release / "opus.vocab.yml").write_text("[" * 200_000)
    assert_refused("nested too deeply")
    (release / "opus.vocab.yml").write_text("a: &x 0\nb: *x\n")
    assert_refused("aliases")
    (release / "opus.vocab.yml").write_text("[a, b]: 0\n")
    assert_refused("keys must be texts")
    (release / "source.spm").unlink()
    assert_refused(r"source\.spm: is missing")
    (release / "decoder.yml").write_text(yaml.dump({"models": ["a.npz", "b.npz"]}))
    assert_refused("an ensemble of 2")
    (release / "decoder.yml").write_text(yaml.dump({"models": ["opus.npz"], "word-penalty": 0.5}))
    assert_refused("word-penalty = 0.5 is not supported")
    (release / "decoder.yml").write_text(yaml.dump({"models": ["/etc/passwd"]}))
    assert_refused("/etc/passwd, which decoder.yml names, is missing")
    np.savez(model, Wemb=np.array([{"a": 1}], dtype=object))
    assert_refused("not of numbers alone")
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,), }".ljust(117) + b"\n"
    with zipfile.ZipFile(model, "w") as archive:
        archive.writestr("Wemb.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64))
    assert_refused("damaged")
    np.savez(model, Wemb=np.zeros((3, 3)))
    assert_refused("no model of Marian")
    weights = dict(np.load(model.parent / "opus.npz"))
    weights["Wemb"] = np.full_like(weights["Wemb"], np.nan)
    np.savez(model, **weights)
    assert_refused("no numbers")


@pytest.mark.parametrize("name", ["../outside.npz", "/tmp/outside.npz", "a/../../outside.npz", "..\\outside.npz"])
def test_a_zip_file_that_would_write_outside(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr(name, "x")
    with pytest.raises(AlidadeError, match="refused, since it would write outside"):
        read(tmp_path / "evil.zip", tmp_path / "ours")


def test_a_zip_file_that_swells(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("opus.npz", bytes(50_000_000))
    with pytest.raises(AlidadeError, match="too large"):
        read(tmp_path / "bomb.zip", tmp_path / "ours")


def test_what_is_no_model_at_all(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match="no such file or folder"):
        read(tmp_path / "nothing", tmp_path / "ours")
    (tmp_path / "text.zip").write_text("text")
    with pytest.raises(AlidadeError, match="not a zip file"):
        read(tmp_path / "text.zip", tmp_path / "ours")
    (tmp_path / "empty").mkdir()
    with pytest.raises(AlidadeError, match="neither a release of Marian"):
        read(tmp_path / "empty", tmp_path / "ours")
