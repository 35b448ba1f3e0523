"""What the pages show of a draft by a model, and of clusters that it could not draft."""

import pytest
from django.urls import reverse
from django.utils import timezone

from memories.embedding_queue import embed_waiting
from memories.models import Memory
from memories.services import remember
from reflections.distil import LOW_CONFIDENCE
from reflections.models import FailedCluster, Run
from tests.factories import make_member, make_memory
from tests.queries import queries_of
from tests.reflections.factories import make_candidate, make_episodes, make_failed_cluster, person

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def page(mine, query=""):
    return mine.get(reverse("reflection_list") + query)


def make_distilled(scope, text="The cache is rebuilt after an incident. Nobody knows why.", **overrides):
    """A draft whose first sentence two episodes say, and whose second none."""
    sources = make_episodes(scope)
    first = {
        "text": "The cache is rebuilt after an incident.",
        "sources": [str(sources[2].pk), str(sources[0].pk)],
    }
    told = {"origin": "openai:some-model", "confidence": 0.83, "rationale": "Two episodes tell of it."}
    return make_candidate(scope, sources=sources, draft=text, **{"sentences": [first]} | told | overrides)


def pieces_of(response) -> list[tuple]:
    (row,) = response.context["rows"]
    return [(piece["text"], piece["numbers"], piece["unsupported"]) for piece in row["sentences"]]


# A draft -------------------------------------------------------------------------------------


def test_a_draft_names_its_model_its_confidence_and_its_reasons(mine, scope):
    make_distilled(scope)
    text = page(mine).text
    assert "openai:some-model" in text
    assert "0.83" in text
    assert "Two episodes tell of it." in text


def test_each_sentence_shows_all_the_sources_that_say_it_and_the_rest_that_none_is_named(mine, scope):
    make_distilled(scope)
    assert pieces_of(page(mine)) == [
        ("The cache is rebuilt after an incident.", [1, 3], False),
        (" Nobody knows why.", [], True),
    ]
    assert "Said by source 3" in page(mine).text
    assert "no source is named for this" in page(mine).text


@pytest.mark.parametrize("text", ["A.  B.\n\nC.", " The cache is rebuilt after an incident.", "x"])
def test_the_pieces_joined_are_the_draft_to_the_letter(mine, scope, text):
    make_distilled(scope, text)
    assert "".join(piece for piece, _, _ in pieces_of(page(mine))) == text


def test_a_draft_with_a_sentence_that_none_says_needs_all_its_sources(mine, scope):
    candidate = make_distilled(scope, "Nobody knows why.", sentences=[{"text": "Nobody knows why.", "sources": []}])
    forgotten = candidate.episodes.first()
    Memory.objects.filter(pk=forgotten.pk).update(invalidated_at=timezone.now(), invalidated_actor="somebody")
    mine.post(reverse("reflection_approve", args=[candidate.pk]), {"version": 1})
    candidate.refresh_from_db()
    assert candidate.state == "pending"


def test_what_cannot_be_seen_or_passes_for_something_else_is_marked(mine, scope):
    make_candidate(scope, draft="Use p\u0430ypal\u200b only.")
    text = page(mine).text
    assert 'p<span class="control-char" title="CYRILLIC SMALL LETTER A">\u0430 U+0430</span>ypal' in text
    assert '<span class="control-char" title="ZERO WIDTH SPACE">U+200B</span>' in text


def test_what_is_stored_is_the_text_that_was_shown_unseen_characters_included(mine, scope):
    candidate = make_candidate(scope, draft="Use p\u0430ypal\u200b only.")
    (row,) = page(mine).context["rows"]
    mine.post(reverse("reflection_approve", args=[candidate.pk]), {"version": 1, "shown": row["shown"]})
    candidate.refresh_from_db()
    assert candidate.memory.content == "Use p\u0430ypal\u200b only."


def test_another_text_than_the_one_on_the_screen_is_not_approved(mine, scope):
    candidate = make_candidate(scope, draft="What was shown.")
    (row,) = page(mine).context["rows"]
    type(candidate).objects.filter(pk=candidate.pk).update(draft="What nobody has seen.")
    answer = mine.post(
        reverse("reflection_approve", args=[candidate.pk]), {"version": 1, "shown": row["shown"]}, headers=HTMX
    )
    assert answer.status_code == 409
    assert "changed since you opened it" in answer.text
    assert not Memory.objects.filter(kind="fact").exists()


def test_the_shelf_says_that_a_draft_was_dismissed_by_itself_and_why(mine, scope):
    make_distilled(scope, state="dismissed", reason=LOW_CONFIDENCE, decided_at=timezone.now(), confidence=0.4)
    text = page(mine, "?state=dismissed").text
    assert "by itself" in text
    assert "low_confidence: the model was less than 0.6 sure, or saw no common outcome." in text


def test_a_draft_without_a_text_is_brought_back_but_not_approved_as_it_is(mine, scope):
    candidate = make_distilled(
        scope, "", sentences=[], state="dismissed", reason=LOW_CONFIDENCE, decided_at=timezone.now()
    )
    assert "The model wrote no draft." in page(mine, "?state=dismissed").text
    mine.post(reverse("reflection_undo", args=[candidate.pk]), {"version": 1})
    text = page(mine).text
    assert "Edit, then approve" in text
    assert "Approve and write 1 memory" not in text


# What resembles it ---------------------------------------------------------------------------

SAID = "The nightly import leaves its database connections open."


def similar(mine, candidate, headers=None):
    return mine.get(reverse("reflection_similar", args=[candidate.pk]), headers=headers)


def stored(owner, scope, content, kind="fact"):
    memory = remember(actor=person(owner), scope=scope, content=content, kind=kind).memory
    embed_waiting()
    return memory


def test_a_draft_that_is_stored_already_is_shown_as_a_risk_word_by_word(mine, owner, scope):
    memory = stored(owner, scope, SAID)
    candidate = make_candidate(scope, draft=SAID.replace("leaves", "keeps"))
    answer = similar(mine, candidate, HTMX)
    assert "duplicate risk" in answer.text
    assert "<del>leaves</del><ins>keeps</ins>" in answer.text
    assert reverse("memory_detail", args=[memory.pk]) in answer.text


def test_something_else_that_is_stored_is_no_risk(mine, owner, scope):
    stored(owner, scope, "The office moved to the third floor.")
    answer = similar(mine, make_candidate(scope, draft=SAID), HTMX)
    assert "duplicate risk" not in answer.text
    assert "Nothing similar is stored." in answer.text


def test_episodes_and_what_was_forgotten_are_not_compared(mine, owner, scope):
    stored(owner, scope, SAID, kind="episode")
    forgotten = stored(owner, scope, SAID)
    Memory.objects.filter(pk=forgotten.pk).update(invalidated_at=timezone.now(), invalidated_actor="somebody")
    assert similar(mine, make_candidate(scope, draft=SAID), HTMX).context["similar"].rows == []


def test_what_another_scope_holds_is_not_compared(mine, client_of, owner, scope):
    reader = make_member(scope, "reader")
    elsewhere = make_memory(SAID).scope
    Memory.objects.filter(scope=elsewhere).update(kind="fact")
    embed_waiting()
    candidate = make_candidate(scope, draft=SAID)
    for who in (mine, client_of(reader)):
        assert similar(who, candidate, HTMX).context["similar"].rows == []


def test_without_scripts_the_comparison_is_a_page(mine, owner, scope):
    stored(owner, scope, SAID)
    answer = similar(mine, make_candidate(scope, draft=SAID))
    assert "<h1" in answer.text
    assert "duplicate risk" in answer.text


def test_without_an_embedder_the_page_says_so(mine, scope, settings):
    settings.EMBEDDER = "none"
    assert "no embedder is configured" in similar(mine, make_candidate(scope, draft=SAID), HTMX).text


# Clusters that failed ------------------------------------------------------------------------


@pytest.mark.behaviour("F1")
def test_a_parked_cluster_is_shown_with_the_reason_its_episodes_and_the_raw_answer(mine, scope):
    episodes = make_episodes(scope)
    make_failed_cluster(scope, episodes, reason="It wrote prose.", raw="I would <b>rather</b> not.")
    text = page(mine).text
    assert "1 cluster could not be drafted" in text
    assert "It wrote prose." in text
    assert "I would &lt;b&gt;rather&lt;/b&gt; not." in text
    for episode in episodes:
        assert reverse("memory_detail", args=[episode.pk]) in text


@pytest.mark.behaviour("F1")
def test_trying_again_forgets_the_failures_and_starts_a_search(mine, scope):
    cluster = make_failed_cluster(scope, make_episodes(scope))
    answer = mine.post(reverse("reflection_retry", args=[cluster.pk]), follow=True)
    assert "The model is asked again" in answer.text
    assert not FailedCluster.objects.exists()
    assert list(Run.objects.get().scopes.all()) == [scope]


def test_a_reader_sees_a_parked_cluster_and_may_not_try_it_again(client_of, scope):
    cluster = make_failed_cluster(scope, make_episodes(scope))
    reader = client_of(make_member(scope, "reader"))
    assert "1 cluster could not be drafted" in page(reader).text
    assert "Try again" not in page(reader).text
    assert reader.post(reverse("reflection_retry", args=[cluster.pk])).status_code == 403
    assert FailedCluster.objects.exists()


def test_a_cluster_whose_episode_was_forgotten_is_not_shown_any_more(mine, scope):
    episodes = make_episodes(scope)
    make_failed_cluster(scope, episodes)
    Memory.objects.filter(pk=episodes[0].pk).update(invalidated_at=timezone.now(), invalidated_actor="somebody")
    assert "could not be drafted" not in page(mine).text


def test_the_queries_do_not_grow_with_the_clusters_that_failed(mine, scope):
    counts = []
    for number in range(2):
        for _ in range(1 + number * 4):
            make_failed_cluster(scope, make_episodes(scope))
        counts.append(queries_of(lambda: page(mine)))
    assert counts[0] == counts[1]
