"""The packaged model itself, and folders of an owner's own."""

import hashlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import numpy as np
import pytest
from django.test import override_settings
from hypothesis import given, settings
from hypothesis import strategies as st

from zeromemory.embedding import EmbedderError, get_embedder, reset
from zeromemory.embedding.local import (
    MODEL_SHA256,
    TOKENIZER_SHA256,
    LocalEmbedder,
    ModelFile,
    Prefixes,
    owners_own,
    packaged,
)
from zeromemory.embedding.onnx_model import BATCH_TOKENS, batches, mean_pooled

MODEL = packaged().model_file.path
TOKENIZER = packaged().tokenizer_file.path
TEXTS = [
    "The deploy pipeline runs every Friday at noon.",
    "Alpaca",
    "We chose PostgreSQL over MySQL because of transactional migrations. " * 12,
    "",
    "Le serveur de courrier redémarre le lundi.",
    "def handle(request): return HttpResponse(status=204)",
]


@pytest.fixture(scope="module")
def embedder():
    return packaged()


@pytest.fixture
def folder(tmp_path):
    """An owner's folder with a model that is byte for byte the packaged one."""
    shutil.copy(MODEL, tmp_path / "model.onnx")
    shutil.copy(TOKENIZER, tmp_path / "tokenizer.json")
    return tmp_path


def checked(model: Path, tokenizer: Path) -> LocalEmbedder:
    return LocalEmbedder(
        "checked",
        ModelFile(model, "Reinstall it.", MODEL_SHA256),
        ModelFile(tokenizer, "Restore it.", TOKENIZER_SHA256),
        384,
    )


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_the_packaged_model_names_itself(embedder):
    assert (embedder.name, embedder.version) == ("local:all-MiniLM-L6-v2-int8", "8199be6f699a")
    assert (embedder.dimensions, embedder.max_tokens) == (384, 256)


def test_documents_become_unit_vectors_in_the_given_order(embedder):
    vectors = embedder.encode_documents(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), 384), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert embedder.encode_documents([text])[0] @ vector > 0.99999


def test_the_same_texts_give_the_same_vectors_to_the_last_bit(embedder):
    assert np.array_equal(embedder.encode_documents(TEXTS), embedder.encode_documents(TEXTS))


def test_the_company_in_a_batch_moves_a_vector_by_less_than_one_in_a_hundred_thousand(embedder):
    texts = [f"{text} {number}" for number, text in enumerate(TEXTS * 4)]
    Random(1).shuffle(texts)
    together = embedder.encode_documents(texts)
    alone = np.stack([embedder.encode_documents([text])[0] for text in texts])
    assert np.abs(together - alone).max() < 1e-5


def test_a_query_and_the_same_text_as_a_document_agree(embedder):
    query = embedder.encode_query(TEXTS[0])
    assert query.shape == (384,)
    assert query @ embedder.encode_documents(TEXTS[:1])[0] > 0.99999


def test_no_texts_give_no_vectors(embedder):
    assert embedder.encode_documents([]).shape == (0, 384)


@pytest.mark.parametrize(
    ("text", "paraphrase", "unrelated"),
    [
        ("The deploy happens on Friday.", "Releases go out at the end of the week.", "The cat eats fish."),
        ("We picked Postgres as the database.", "Our data store is PostgreSQL.", "The office has a new sofa."),
        ("Never commit secrets.", "Do not put passwords into version control.", "Lunch is at twelve."),
    ],
)
def test_a_paraphrase_is_closer_than_an_unrelated_text(embedder, text, paraphrase, unrelated):
    base, near, far = embedder.encode_documents([text, paraphrase, unrelated])
    assert base @ near > base @ far + 0.15


def test_text_beyond_the_token_limit_changes_nothing(embedder):
    begin = "word " * 300
    first, second, shorter = embedder.encode_documents([begin + "alpaca " * 50, begin + "zeppelin", "word " * 200])
    assert first @ second > 0.99999
    assert not np.array_equal(first, shorter)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00",
        "a\x00b",
        "\ud800",
        "\udfff tail",
        "\x1b[31m\x07",
        "\u200b\u202e",
        "e" + "\u0301" * 5000,
    ],
    ids=ascii,
)
def test_awkward_text_is_embedded(embedder, text):
    assert np.isfinite(embedder.encode_query(text)).all()


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=120))
def test_any_text_is_embedded(text):
    assert get_embedder().encode_query(text).shape == (384,)


def test_control_characters_count_as_spaces(embedder):
    assert embedder.encode_query("blue\x00car") @ embedder.encode_query("blue car") > 0.99999


def test_a_word_of_a_megabyte_still_has_a_meaning_of_its_own(embedder):
    first, second = embedder.encode_documents(["banana" * 200_000, "x1f9" * 300_000])
    assert first @ second < 0.9


def test_many_threads_share_one_embedder_from_its_first_use():
    fresh = packaged()
    expected = packaged().encode_documents(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(fresh.encode_documents, [TEXTS] * 8))
    assert all(np.allclose(answer, expected, atol=1e-5) for answer in answers)


@given(st.lists(st.integers(1, 256), max_size=60), st.integers(1, 1000))
def test_batches_hold_every_row_once_and_stay_within_the_budget(lengths, budget):
    found = list(batches(lengths, budget))
    assert sorted(row for batch in found for row in batch) == list(range(len(lengths)))
    assert all(len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= budget for batch in found)


def test_batches_put_texts_of_like_length_together():
    assert list(batches([200, 10, 210, 12], BATCH_TOKENS)) == [[1, 3], [0, 2]]


def test_padding_has_no_part_in_the_mean():
    hidden = np.array([[[2.0, 4.0], [4.0, 8.0], [99.0, 99.0]]])
    assert mean_pooled(hidden, np.array([[1, 1, 0]])).tolist() == [[3.0, 6.0]]


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_changed_file_is_refused_with_its_path_and_the_remedy(folder, name):
    damage(folder / name)
    embedder = checked(folder / "model.onnx", folder / "tokenizer.json")
    with pytest.raises(EmbedderError, match=rf"{name} is not the expected file: .* (Reinstall|Restore) it\.") as caught:
        embedder.encode_query("anything")
    assert not caught.value.retryable


def test_an_intact_copy_passes_the_checksum(folder):
    assert checked(folder / "model.onnx", folder / "tokenizer.json").encode_query("anything").shape == (384,)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named_and_restoring_it_is_enough(folder, name):
    (folder / name).rename(folder / "elsewhere")
    embedder = owners_own(folder)
    with pytest.raises(EmbedderError, match=rf"{name} cannot be read .* ZEROMEMORY_EMBEDDER_PATH must be a folder"):
        embedder.encode_query("anything")
    (folder / "elsewhere").rename(folder / name)
    assert embedder.encode_query("anything").shape == (384,)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_of_another_kind_is_refused_with_the_remedy(folder, name):
    (folder / name).write_text("not what it should be")
    with pytest.raises(EmbedderError, match=r"does not run .* ZEROMEMORY_EMBEDDER_PATH must be a folder"):
        owners_own(folder).encode_query("anything")


def test_a_tokenizer_of_another_model_is_refused_at_load(folder):
    definition = json.loads((folder / "tokenizer.json").read_text())
    definition["model"]["vocab"]["probe"] = 999_999
    (folder / "tokenizer.json").write_text(json.dumps(definition))
    with pytest.raises(EmbedderError, match="does not run"):
        _ = owners_own(folder).dimensions


def test_an_owners_folder_gives_name_version_and_dimensions(folder):
    reset()
    with override_settings(EMBEDDER="local", EMBEDDER_MODEL_PATH=str(folder)):
        embedder = get_embedder()
        assert embedder.name == f"local:{folder.name}"
        assert embedder.version == hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()[:12]
        assert embedder.dimensions == 384
    reset()


@pytest.mark.parametrize(("query", "document"), [("query: ", "passage: "), ("query: ", ""), ("", "passage: ")])
def test_prefixes_of_an_owners_model_are_put_before_queries_and_documents(folder, query, document):
    bare, prefixed = owners_own(folder), owners_own(folder, Prefixes(query, document))
    assert np.allclose(prefixed.encode_query(" ferry"), bare.encode_query(f"{query}ferry"), atol=1e-6)
    assert np.allclose(prefixed.encode_documents(["ferry"]), bare.encode_documents([f"{document}ferry"]), atol=1e-6)


def test_another_prefix_for_documents_is_another_version_and_one_for_queries_is_not(folder):
    bare = owners_own(folder).version
    assert owners_own(folder, Prefixes(query="query: ")).version == bare
    versions = {owners_own(folder, Prefixes(document=prefix)).version for prefix in ("passage: ", "doc: ")}
    assert len(versions | {bare}) == 3


def test_the_settings_name_the_prefixes(folder):
    reset()
    prefixes = {"EMBEDDER_QUERY_PREFIX": "query: ", "EMBEDDER_DOCUMENT_PREFIX": "passage: "}
    with override_settings(EMBEDDER="local", EMBEDDER_MODEL_PATH=str(folder), **prefixes):
        assert get_embedder().prefixes == Prefixes("query: ", "passage: ")
    reset()


def test_the_tokenizer_file_has_its_licence_beside_it():
    assert "SPDX-License-Identifier: Apache-2.0" in TOKENIZER.with_name(TOKENIZER.name + ".license").read_text()
