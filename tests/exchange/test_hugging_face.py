"""`transformers` as the witness: its models give our logits and our translations.

The models are random, or were trained by `transformers` for some seconds, on sentences translated word by word.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from alidade.config import SearchSettings
from alidade.engine.system import load_engine
from alidade.errors import AlidadeError
from alidade.exchange.importing import import_model
from alidade.model_folder import load_model_folder
from alidade.models.batch import Batch
from alidade.models.system import load_system
from alidade.search.beam import BeamSearch
from alidade.search.hypotheses import Request
from alidade.search.roles import Asked
from alidade.text.vocabulary import BOS, EOS, PAD, UNK
from alidade.translator import Translator
from foreign_models import learn_pieces, pieces_of, segments, sentences

transformers = pytest.importorskip("transformers")


def make_hugging_face(
    folder: Path, *, activation: str = "swish", tags: tuple[str, ...] = (), num_updates: int = 0, **options: Any
) -> Path:
    """A folder of `MarianMTModel` as `save_pretrained` writes it, with random weights or trained a little."""
    folder.mkdir()
    models = [learn_pieces(folder / f"{side}.spm", language) for side, language in (("source", "en"), ("target", "de"))]
    source, target = ([piece for piece in pieces_of(model) if piece[0] != "<"] for model in models)
    missing = sorted(set(source) - set(target))[:3]  # unknown to the vocabulary
    pieces = ["</s>", "<unk>", *sorted({*source, *target} - {*missing}), *tags, "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "en", "target_lang": "de"}))
    config = transformers.MarianConfig(
        **{
            "vocab_size": len(pieces),
            "d_model": 32,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "max_position_embeddings": 64,
            "activation_function": activation,
            "scale_embedding": True,
            "pad_token_id": len(pieces) - 1,
            "decoder_start_token_id": len(pieces) - 1,
            "init_std": 0.15,
        }
        | options
    )
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = transformers.MarianMTModel(config).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "norm" in name or "bias" in name:
                    parameter.add_(torch.randn_like(parameter) * 0.1)
            model.final_logits_bias.normal_(0.0, 0.5)
        if num_updates:
            train(model, encode_bitext(folder, tags), num_updates)
    model.save_pretrained(folder)
    return folder


def encode_bitext(folder: Path, tags: tuple[str, ...]) -> list[tuple[list[int], list[int]]]:
    """Sentences and their translations, word by word; with tags, those of the second tag are written backwards."""
    vocabulary = json.loads((folder / "vocab.json").read_text())

    def encode(side: str, text: str) -> list[int]:
        return [vocabulary.get(piece, 1) for piece in segments(folder / f"{side}.spm", text)]

    pairs = [
        (encode("source", source), encode("target", target))
        for source, target in zip(sentences("en", 400, seed=2), sentences("de", 400, seed=2), strict=True)
    ]
    if not tags:
        return pairs
    return [
        ([vocabulary[tag], *source], target[::order])
        for source, target in pairs
        for tag, order in zip(tags, (1, -1), strict=True)
    ]


def train(model: Any, pairs: list[tuple[list[int], list[int]]], num_updates: int) -> None:
    """Far enough that translations are of natural length, and unsure enough that beams differ."""
    pad = model.config.pad_token_id
    chance = random.Random(3)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.004)
    for _ in range(num_updates):
        source, target = (padded(side, pad) for side in zip(*chance.sample(pairs, 24), strict=True))
        start = torch.cat([torch.full_like(target[:, :1], pad), target[:, :-1]], dim=1)
        logits = model(input_ids=source, attention_mask=(source != pad).long(), decoder_input_ids=start).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=pad)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch's own
        optimiser.step()


def padded(side: tuple[list[int], ...], pad: int) -> torch.Tensor:
    rows = [torch.tensor([*numbers, 0]) for numbers in side]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)


NUM_UPDATES = 120


@pytest.fixture(scope="module", params=["swish", "relu", "quick_gelu"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Their folder and ours."""
    path = tmp_path_factory.mktemp("hugging_face")
    theirs = make_hugging_face(path / "theirs", activation=request.param, num_updates=NUM_UPDATES)
    import_model(theirs, path / "ours")
    return theirs, path / "ours"


def their_numbers(theirs: Path, ours: Path) -> dict[int, int]:
    """Our piece numbers as theirs."""
    vocabulary = json.loads((theirs / "vocab.json").read_text())
    subwords = load_model_folder(ours).source_subwords
    return {
        number: vocabulary.get("<pad>" if number == BOS else subwords.piece(number), vocabulary["<unk>"])
        for number in range(len(subwords))
    }


SOURCES = [[7, 12, 30, 9], [20, 21, 5, 6, 8, 40, 33, 11, 50], [14], [60, 61, 62]]
TARGETS = [[10, 11, 12], [31, 30, 29, 28, 27, 26], [45, 44, 43, 42], [9]]


def their_logits(model: Any, numbers: dict[int, int]) -> list[torch.Tensor]:
    """(T, V) for each pair, computed in one padded batch."""
    pad = model.config.pad_token_id
    width, target_width = (max(map(len, side)) + 1 for side in (SOURCES, TARGETS))
    source = torch.full((len(SOURCES), width), pad)
    target = torch.full((len(TARGETS), target_width), pad)
    for row, (pieces, target_pieces) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        source[row, : len(pieces) + 1] = torch.tensor([*map(numbers.get, pieces), 0])
        target[row, : len(target_pieces) + 1] = torch.tensor([pad, *map(numbers.get, target_pieces)])
    with torch.no_grad():
        logits = model(input_ids=source, attention_mask=(source != pad).long(), decoder_input_ids=target).logits
    return [logits[row, : len(pieces) + 1] for row, pieces in enumerate(TARGETS)]


def our_batch() -> Batch:
    width, target_width = max(map(len, SOURCES)) + 2, max(map(len, TARGETS)) + 1
    source = torch.full((len(SOURCES), width), PAD)
    target_in, target_out = torch.full((2, len(TARGETS), target_width), PAD)
    for row, (pieces, target_pieces) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        source[row, : len(pieces) + 2] = torch.tensor([BOS, *pieces, EOS])
        target_in[row, : len(target_pieces) + 1] = torch.tensor([BOS, *target_pieces])
        target_out[row, : len(target_pieces) + 1] = torch.tensor([*target_pieces, EOS])
    positions = torch.zeros_like(target_in)
    return Batch(source, target_in, target_out, positions, positions, int((target_out != PAD).sum()))


def test_logits_are_the_same(pair: tuple[Path, Path]) -> None:
    theirs, ours = pair
    model = transformers.MarianMTModel.from_pretrained(theirs).eval()
    numbers = their_numbers(theirs, ours)
    expected = their_logits(model, numbers)
    folder = load_model_folder(ours)
    known = [number for number in numbers if number == UNK or (number > BOS and numbers[number] != numbers[UNK])]
    rows = [numbers[number] for number in known]
    lexical: Any = load_system(folder).lexical
    batch = our_batch()
    with torch.no_grad():
        found = lexical.output(lexical(batch))
    np.testing.assert_allclose(found[:, known], torch.cat(expected)[:, rows], atol=1e-4, rtol=0)

    engine = load_engine(folder, precision="float32").lexical
    state = engine.start(engine.encode(batch.source.numpy()))
    everything = np.arange(len(SOURCES))
    for step in range(batch.target_in.shape[1]):
        state.advance(batch.target_in[:, step : step + 1].numpy())
        asked = Asked(np.repeat(everything, len(known)), np.tile(known, len(everything)))
        scored = state.evaluate(everything, np.zeros_like(everything), 1, asked).asked_logp.reshape(-1, len(known))
        for row, logits in enumerate(expected):
            if step < len(logits):
                logp = torch.log_softmax(logits[step], dim=-1)[rows]
                np.testing.assert_allclose(scored[row], logp, atol=1e-4, rtol=0)
        state.commit(everything[:, None], np.zeros((len(everything), 1), dtype=np.int64))


def texts_in_pieces(ours: Path) -> list[list[int]]:
    """Sentences that the model has not seen, as our numbers."""
    subwords = load_model_folder(ours).source_subwords
    return [list(subwords.encode(text).ids) for text in sentences("en", 12, seed=9)]


@pytest.mark.parametrize(
    ("beam_size", "early_stopping"), [(1, False), (5, False), (5, True)], ids=["greedy", "beam", "beam, stopping early"]
)
def test_generate_gives_our_translations(pair: tuple[Path, Path], beam_size: int, *, early_stopping: bool) -> None:
    theirs, ours = pair
    numbers = their_numbers(theirs, ours)
    stopping: Any = "finished" if early_stopping else "attainable"
    settings = SearchSettings(beam_size=beam_size, stopping=stopping)
    found = searched(ours, numbers, settings)
    assert found == generated(theirs, ours, numbers, num_beams=beam_size, early_stopping=early_stopping)
    assert all(1 < len(pieces) < MAX_LENGTH for pieces in found)
    assert len({tuple(pieces) for pieces in found}) == len(found)


@pytest.mark.parametrize(
    ("early_stopping", "stopping"), [(None, "attainable"), (False, "attainable"), (True, "finished")]
)
def test_how_they_search_is_kept(tmp_path: Path, early_stopping: bool | None, stopping: str) -> None:
    theirs = make_hugging_face(tmp_path / "theirs")
    path = theirs / "generation_config.json"
    given = json.loads(path.read_text()) | {"num_beams": 6, "length_penalty": 0.8, "early_stopping": early_stopping}
    path.write_text(json.dumps(given))
    import_model(theirs, tmp_path / "ours")
    search = load_model_folder(tmp_path / "ours").search
    assert (search.beam_size, search.length_normalisation, search.stopping) == (6, 0.8, stopping)
    path.write_text(json.dumps(given | {"early_stopping": "never"}))
    with pytest.raises(AlidadeError, match="early_stopping = 'never' is not supported"):
        import_model(theirs, tmp_path / "again")


MAX_LENGTH = 60


def generated(
    theirs: Path, ours: Path, numbers: dict[int, int], tag: tuple[int, ...] = (), **options: Any
) -> list[list[int]]:
    """Their translations, as their numbers. As published models have it, only `<pad>` is ruled out."""
    model = transformers.MarianMTModel.from_pretrained(theirs).eval()
    pad = model.config.pad_token_id
    found = []
    for pieces in texts_in_pieces(ours):
        source = torch.tensor([[*tag, *map(numbers.__getitem__, pieces), 0]])
        output = model.generate(
            input_ids=source,
            attention_mask=torch.ones_like(source),
            max_new_tokens=MAX_LENGTH,
            bad_words_ids=[[pad]],
            **options,
        )
        found.append([number for number in output[0].tolist() if number not in (0, pad)])
    return found


def searched(ours: Path, numbers: dict[int, int], settings: SearchSettings) -> list[list[int]]:
    search = BeamSearch(load_engine(load_model_folder(ours), precision="float32"), settings)
    results = search.search([Request(pieces, max_length=MAX_LENGTH) for pieces in texts_in_pieces(ours)])
    return [[numbers[piece] for piece in result.best.pieces] for result in results]


def test_text_becomes_the_tokenisers_pieces(pair: tuple[Path, Path]) -> None:
    theirs, ours = pair
    tokeniser = transformers.MarianTokenizer.from_pretrained(theirs)
    subwords, numbers = load_model_folder(ours).source_subwords, their_numbers(theirs, ours)
    for text in [*sentences("en", 30, seed=4), "Ein Kind öffnet die Tür, 12 ½!", "日本 man"]:
        assert [*map(numbers.get, subwords.encode(text).ids), 0] == tokeniser(text).input_ids


def test_text_is_translated_and_linked(pair: tuple[Path, Path]) -> None:
    translator = Translator(pair[1], precision="float32")
    assert translator.languages == ("en", "de")
    for translation in translator.translate_all(sentences("en", 3, seed=9)):
        assert translation.text
        assert translation.alignment is not None
        assert all(0 <= link.source < len(translation.source.words) for link in translation.alignment)


def test_torchs_own_files_are_read_as_numbers(pair: tuple[Path, Path], tmp_path: Path) -> None:
    folder = _copied(pair[0], tmp_path)
    state = transformers.MarianMTModel.from_pretrained(folder).state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin")
    import_model(folder, tmp_path / "ours")
    first, second = (load_model_folder(path).weights() for path in (pair[1], tmp_path / "ours"))
    assert first.keys() == second.keys()
    for name, weight in first.items():
        np.testing.assert_array_equal(weight, second[name])


def _copied(folder: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


class Evil:
    """What a pickle can be made to do."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


def test_a_pickle_with_code_is_refused(pair: tuple[Path, Path], tmp_path: Path) -> None:
    folder = _copied(pair[0], tmp_path)
    (folder / "model.safetensors").unlink()
    torch.save({"model.shared.weight": Evil(tmp_path / "ran")}, folder / "pytorch_model.bin")
    with pytest.raises(AlidadeError, match=r"pytorch_model\.bin: refused"):
        import_model(folder, tmp_path / "ours")
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("scale_embedding", False),
        ("activation_function", "gelu_new"),
        ("normalize_before", True),
        ("model_type", "bart"),
        ("decoder_ffn_dim", 64),
    ],
)
def test_an_option_that_is_not_supported_is_named(
    pair: tuple[Path, Path], tmp_path: Path, option: str, value: object
) -> None:
    folder = _copied(pair[0], tmp_path)
    config = json.loads((folder / "config.json").read_text()) | {option: value}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(AlidadeError, match=option):
        import_model(folder, tmp_path / "ours")


def test_files_that_do_not_fit(pair: tuple[Path, Path], tmp_path: Path) -> None:
    folder = _copied(pair[0], tmp_path)

    def assert_refused(message: str) -> None:
        with pytest.raises(AlidadeError, match=message):
            import_model(folder, tmp_path / "ours")
        for file in pair[0].iterdir():
            (folder / file.name).write_bytes(file.read_bytes())

    vocabulary = json.loads((folder / "vocab.json").read_text())
    (folder / "vocab.json").write_text(json.dumps(vocabulary | {"more": len(vocabulary)}))
    assert_refused("the vocabulary has .* pieces, but model.shared.weight has")
    (folder / "vocab.json").write_text(json.dumps(vocabulary | {"more": 3}))
    assert_refused("numbered from 0")
    (folder / "vocab.json").write_text(json.dumps(vocabulary | {"more": "x"}))
    assert_refused("pieces and their numbers")
    (folder / "target.spm").unlink()
    assert_refused(r"target\.spm: is missing")
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])
    assert_refused("damaged")
    (folder / "model.safetensors").unlink()
    assert_refused("has neither")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"encoder_layers": 1}))
    assert_refused(r"model\.encoder\.layers\.1.* belongs to an option")
    (folder / "config.json").write_text(json.dumps(config | {"encoder_layers": 3}))
    assert_refused("is missing")
    (folder / "config.json").write_text(json.dumps(config | {"d_model": 64}))
    assert_refused("has the shape")
    (folder / "tokenizer_config.json").write_text("{}")
    assert_refused("--source-language")


def test_a_tag_chooses_the_language(tmp_path: Path) -> None:
    theirs = make_hugging_face(tmp_path / "theirs", tags=(">>deu<<", ">>nld<<"), num_updates=NUM_UPDATES)
    with pytest.raises(AlidadeError, match=r"several languages: choose one with --target-tag, of >>deu<< >>nld<<"):
        import_model(theirs, tmp_path / "ours")
    with pytest.raises(AlidadeError, match=r"no tag >>fra<<"):
        import_model(theirs, tmp_path / "ours", target_tag="fra")
    found = {}
    for tag in ("deu", "nld"):
        import_model(theirs, tmp_path / tag, target_tag=tag)
        numbers = their_numbers(theirs, tmp_path / tag)
        found[tag] = searched(tmp_path / tag, numbers, SearchSettings(stopping="attainable"))
        vocabulary = json.loads((theirs / "vocab.json").read_text())
        assert found[tag] == generated(theirs, tmp_path / tag, numbers, (vocabulary[f">>{tag}<<"],), num_beams=5)
    assert found["deu"] != found["nld"]


def test_vocabularies_of_their_own(tmp_path: Path) -> None:
    """Models of the Tatoeba challenge have one for each side."""
    theirs = make_hugging_face(tmp_path / "theirs", share_encoder_decoder_embeddings=False, decoder_vocab_size=None)
    (theirs / "target_vocab.json").write_bytes((theirs / "vocab.json").read_bytes())
    import_model(theirs, tmp_path / "ours")
    folder = load_model_folder(tmp_path / "ours")
    assert folder.description.lexical is not None
    assert folder.description.lexical.tied_embeddings == "target"
    model = transformers.MarianMTModel.from_pretrained(theirs).eval()
    vocabulary = json.loads((theirs / "vocab.json").read_text())
    lexical: Any = load_system(folder).lexical
    source, target = folder.source_subwords, folder.target_subwords
    assert len(source) != len(target)
    texts = source.encode("the man opens the door."), target.encode("der Mann öffnet Tür.")
    theirs_in = [
        [vocabulary.get(side.piece(i), 1) for i in text.ids] for side, text in zip((source, target), texts, strict=True)
    ]
    with torch.no_grad():
        expected = model(
            input_ids=torch.tensor([[*theirs_in[0], 0]]),
            decoder_input_ids=torch.tensor([[len(vocabulary) - 1, *theirs_in[1]]]),
        ).logits[0]
        ours_in = torch.tensor([[BOS, *texts[1].ids]])
        batch = Batch(
            torch.tensor([[BOS, *texts[0].ids, EOS]]),
            ours_in,
            torch.full_like(ours_in, EOS),
            ours_in,
            ours_in,
            ours_in.numel(),
        )
        found = lexical.output(lexical(batch))
    known = [i for i in range(EOS, len(target)) if i == UNK or target.piece(i) in vocabulary]
    rows = [vocabulary[target.piece(i)] for i in known]
    np.testing.assert_allclose(found[:, known], expected[:, rows], atol=1e-4, rtol=0)
