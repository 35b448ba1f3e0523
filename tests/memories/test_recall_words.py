"""The text leg: what counts as a match, in which order, and whatever somebody types."""

import time
import unicodedata

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.access import actor_for_user
from memories.models import Memory
from memories.recall import recall
from memories.services import remember
from memories.words import QUERY_LENGTH, Word, names_in, words_of
from tests.factories import at_cosine, make_memory
from tests.memories.searching import by_words, find_in, ids

pytestmark = pytest.mark.django_db


def texts(results):
    return [result.excerpt for result in results]


@pytest.mark.behaviour("Z14")
def test_one_word_of_two_is_enough_and_more_words_rank_above(scope):
    both = make_memory("The cache is emptied by the deploy.", scope=scope)
    one = make_memory("The cache, the cache, the cache.", scope=scope)
    make_memory("Nothing of the kind.", scope=scope)
    results = by_words(scope, "cache deploy")
    assert ids(results) == [both.pk, one.pk]
    assert [result.text_matched for result in results] == [2, 1]


def test_words_are_counted_over_all_windows_of_a_memory(scope, owner):
    long = "cache " + "lorem ipsum dolor sit amet " * 200 + "deploy"
    memory = remember(actor=actor_for_user(owner), scope=scope, content=long).memory
    assert memory.windows.count() > 1
    make_memory("cache", scope=scope)
    results = by_words(scope, "cache deploy")
    assert results[0].memory.pk == memory.pk
    assert results[0].text_matched == 2


def test_the_excerpt_is_the_stretch_that_matched(scope, owner):
    long = "lorem ipsum dolor sit amet " * 200 + "the needle lies here " + "consectetur adipiscing elit " * 200
    remember(actor=actor_for_user(owner), scope=scope, content=long)
    (result,) = by_words(scope, "needle")
    assert "the needle lies here" in result.excerpt
    assert result.truncated
    assert long[result.start : result.stop] == result.excerpt


def test_a_short_memory_is_shown_whole(scope):
    make_memory("all of it", scope=scope)
    (result,) = by_words(scope, "all of it")
    assert (result.excerpt, result.truncated) == ("all of it", False)


def test_stems_match_and_stop_words_do_not(scope):
    running = make_memory("Running migrations took an hour.", scope=scope)
    make_memory("It was on the table.", scope=scope)
    assert ids(by_words(scope, "how did the migration run")) == [running.pk]


def test_a_query_of_stop_words_alone_searches_for_them(scope):
    hamlet = make_memory("To be or not to be.", scope=scope)
    make_memory("Something else.", scope=scope)
    assert ids(by_words(scope, "to be or not")) == [hamlet.pk]


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("E4042", "Error E4042: the lock is held."),
        ("E-4042", "Error E-4042: the lock is held."),
        ("src/cache/lru.py", "Eviction is in src/cache/lru.py, line 12."),
        ("std::vector", "It returns std::vector<int> by value."),
        ("max_connections", "Raise max_connections to 200."),
        ("10.0.0.17", "The proxy listens on 10.0.0.17."),
        ("camelCaseName", "Rename camelCaseName."),
    ],
)
def test_an_exact_identifier_finds_the_text_that_holds_it(scope, query, content):
    exact = make_memory(content, scope=scope)
    scattered = " ".join(reversed(content.replace("/", " ").replace("_", " ").split()))
    make_memory(scattered.replace(query, "nothing"), scope=scope)
    assert ids(by_words(scope, query))[0] == exact.pk


@pytest.mark.behaviour("Z13")
@pytest.mark.parametrize("query", ["E4042", "ECONNREFUSED", "src/cache/lru.py", "req-7f3a91bc"])
def test_an_identifier_comes_first_however_poor_its_vector(scope, query):
    exact = make_memory(f"Seen once: {query}.", scope=scope, kind="task", age_days=100, vector=at_cosine(-0.5))
    for number in range(20):
        make_memory(f"Something near {number}", scope=scope, kind="decision", vector=at_cosine(0.9, axis=2 + number))
    assert ids(find_in(scope, query))[0] == exact.pk


def test_an_identifier_beats_any_number_of_plain_words(scope):
    exact = make_memory("E4042", scope=scope)
    make_memory("why does saving the file fail with an error", scope=scope)
    assert ids(by_words(scope, "why does saving the file fail with E4042"))[0] == exact.pk


@pytest.mark.behaviour("Z13")
@pytest.mark.parametrize("form", ["{}", "zm://memory/{}", "  {}  "])
def test_a_pasted_id_gives_that_memory(scope, form):
    wanted = make_memory("wanted", scope=scope, kind="task", age_days=400)
    make_memory(f"It replaced {wanted.pk}.", scope=scope)
    assert ids(find_in(scope, form.format(wanted.pk))) == [wanted.pk]


def test_an_id_of_a_foreign_or_retired_memory_gives_nothing(scope):
    foreign = make_memory("theirs")
    retired = make_memory("ours", scope=scope, invalidated_at=timezone.now(), invalidated_actor="somebody")
    assert find_in(scope, str(foreign.pk)) == []
    assert find_in(scope, str(retired.pk)) == []


SCRIPTS = {
    "chinese": ("我们决定使用数据库来存储所有的记忆", "数据库"),
    "japanese": ("記憶はすべてデータベースに保存される", "データベース"),
    "korean": ("모든 기억을 데이터베이스에 저장합니다", "데이터베이스"),
    "cyrillic": ("Мы храним воспоминания в базе данных", "ДАННЫХ"),
    "arabic": ("نحفظ كل الذكريات في قاعدة البيانات", "البيانات"),
    "thai": ("เราเก็บความทรงจำทั้งหมดไว้ในฐานข้อมูล", "ฐานข้อมูล"),
    "devanagari": ("हम सभी यादें डेटाबेस में रखते हैं", "डेटाबेस"),
    "greek": ("Κρατάμε τις αναμνήσεις στη βάση δεδομένων", "δεδομένων"),
    "hebrew": ("אנחנו שומרים את הזיכרונות במסד נתונים", "נתונים"),
    "accents": ("Le café crème est à côté de la forêt", "forêt"),
    "accents left out": ("Der Schlüssel liegt in der Küche", "kuche"),
    "decomposed": (unicodedata.normalize("NFD", "Réglage de la mémoire différée"), "différée"),
    "composed": ("L’opération a échoué hier", unicodedata.normalize("NFD", "échoué")),
    "full width": ("ＰＯＲＴ　８０８０", "8080"),
}


@pytest.mark.behaviour("F28")
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_fragment_finds_its_text_in_any_script(scope, script):
    content, fragment = SCRIPTS[script]
    wanted = [make_memory(text, scope=scope) for text in (content, f"2. {content}", f"{content} (v3)")]
    for other, (text, _) in SCRIPTS.items():
        if other != script:
            make_memory(text, scope=scope)
    assert set(ids(by_words(scope, fragment))[:3]) == {memory.pk for memory in wanted}


@pytest.mark.parametrize("piece", ["x", "x-", "1-", "Ab", "a.", "_", "字", "-", '"'])
def test_one_word_as_long_as_a_query_may_be_keeps_nobody_waiting(piece):
    began = time.perf_counter()
    query = f"x{piece * (QUERY_LENGTH // len(piece))}x"
    words_of(query)
    names_in(query)
    assert time.perf_counter() - began < 0.5


def test_identifiers_are_told_from_words():
    words = words_of("Why does E4042 break src/app.py in camelCase, at 2026 or std::fs? (Yes!) don't e.g. well-known")
    assert [word.text for word in words if word.identifier] == ["E4042", "src/app.py", "camelCase", "2026", "std::fs"]


def test_a_word_counts_once_however_often_and_in_whatever_case_it_is_typed():
    assert words_of("Cache cache CACHE, (cache)") == [Word("Cache")]


def test_capitals_alone_are_a_code_and_in_a_sentence_a_word():
    assert words_of("ECONNREFUSED") == [Word("ECONNREFUSED", identifier=True)]
    assert words_of("parse JSON") == [Word("parse"), Word("JSON")]


HOSTILE = [
    "'",
    "''''",
    "a & | ! <-> b",
    "cache:*",
    "a:A & b:D",
    "\\",
    "\\'",
    "%s %(query)s %%",
    "{filters} {dimensions}",
    "'); DROP TABLE memories; --",
    "a\x00b",
    "\ud800 \udfff",
    "(((((",
    "!!!",
    "<script>alert(1)</script>",
    "\u202e\u200b",
    "🎉",
    "a" * 9000,
    "word " * 3000,
    "$1 $$ :name @x",
]


def test_a_forgotten_text_does_not_come_back_by_its_exact_words(scope):
    make_memory("alpha beta", scope=scope, invalidated_at=timezone.now(), invalidated_actor="somebody")
    assert by_words(scope, "alpha beta") == []


@pytest.mark.parametrize("query", HOSTILE)
def test_no_query_is_an_error(owner, scope, query):
    make_memory("alpha cache beta", scope=scope)
    assert recall(actor=actor_for_user(owner), query=query).policy
    assert Memory.objects.count() == 1


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(st.characters(codec=None, exclude_categories=[]), min_size=1, max_size=200))
def test_any_text_can_be_searched_for(scope, query):
    by_words(scope, query)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.text(min_size=1, max_size=80).filter(lambda text: any(letter.isalpha() for letter in text)))
def test_any_text_with_a_word_is_found_by_itself(scope, content):
    content = content.replace("\x00", "")
    memory = make_memory(content, scope=scope)
    assert memory.pk in ids(by_words(scope, content, k=50))
    memory.delete()
