"""Django's administration: configuration through the services, accounts, the rest to read."""

import re

import pytest
from django.utils import timezone

from memories.configuration import fusion_rule, ranking_rules
from memories.fusion import FusionRule
from memories.models import AuditEntry, ConfigVersion, FusionConfig, Memory, RankingConfig, SignInLink, User
from memories.ranking import KIND_DEFAULTS, KindRule
from memories.services.config import change_ranking
from reflections.models import ReflectionConfig
from tests.factories import make_memory, make_scope, make_token, make_user

FACT = "/admin/memories/rankingconfig/fact/change/"
FUSION = "/admin/memories/fusionconfig/1/change/"
REFLECTION = "/admin/reflections/reflectionconfig/1/change/"
RANKING_VALUES = {
    "weight": "0.9",
    "half_life_days": "365",
    "curve": "exponential",
    "reason": "",
    "expected_version": "1",
}
FUSION_VALUES = {
    "method": "log_linear", "rrf_k": "60", "pool_multiplier": "4", "vector_weight": "1", "text_weight": "1",
    "recency_weight": "0", "contrast": "8", "reason": "", "expected_version": "1",
}  # fmt: skip
REFLECTION_VALUES = {
    "cosine_min": "0.78", "cosine_max": "0.92", "min_members": "3", "max_members": "10", "snooze_days": "14",
    "work_minutes": "12", "work_cosine": "0.24", "work_step": "0.3", "reason": "", "expected_version": "1",
}  # fmt: skip
FORMS = {FACT: RANKING_VALUES, FUSION: FUSION_VALUES, REFLECTION: REFLECTION_VALUES}
SIGN_IN_LINK = re.compile(r"http://testserver/sign-in/[\w-]{20,}/")
NO_SETTINGS = ("reason", "curve", "expected_version")
SETTINGS = [(address, field) for address, values in FORMS.items() for field in values if field not in NO_SETTINGS]
NONSENSE = ["", "-1", "1e999", "99999999999999999999", "nan", "inf", "twelve", "1,5,5", "\x00", "<b>1</b>", "0x10"]


@pytest.fixture
def staff(client_of, db):
    """A member of staff with no other rights."""
    ReflectionConfig.objects.get_or_create(id=1)
    return client_of(make_user(username="steward", is_staff=True))


def posted(browser, address, **values):
    return browser.post(address, FORMS[address] | values)


def errors_of(page):
    return [error for errors in page.context["adminform"].form.errors.values() for error in errors]


@pytest.mark.behaviour("Z8", "Z9")
def test_staff_change_a_half_life_and_it_counts_at_once(staff):
    answer = posted(staff, FACT, half_life_days="90", reason="Prices move every quarter.")
    assert answer.status_code == 302
    assert ranking_rules()["fact"] == KindRule(0.9, 90)
    version = ConfigVersion.objects.get()
    assert (version.changed_by.username, version.reason) == ("steward", "Prices move every quarter.")
    assert (version.old["half_life_days"], version.new["half_life_days"]) == (365, 90)
    assert AuditEntry.objects.get(action="change_configuration").user.username == "steward"


@pytest.mark.behaviour("Z9")
def test_the_other_configuration_rows_are_changed_the_same_way(staff):
    assert posted(staff, FUSION, contrast="4").status_code == 302
    assert posted(staff, REFLECTION, cosine_min="0.7").status_code == 302
    assert fusion_rule() == FusionRule(contrast=4)
    assert ReflectionConfig.objects.get().cosine_min == 0.7
    assert {version.table for version in ConfigVersion.objects.all()} == {"fusion_config", "reflection_config"}


@pytest.mark.behaviour("Z9")
@pytest.mark.parametrize("address", [*FORMS, "/admin/", "/admin/memories/memory/"])
def test_who_is_not_staff_is_sent_to_sign_in(client, client_of, address, db):
    assert client.get(address, follow=True).redirect_chain[-1][0] == f"/sign-in/?next={address}"
    person = client_of(make_user())
    first = person.get(address)
    assert first.status_code == 302
    assert person.get(first.headers["Location"]).headers["Location"] == "/sign-in/"


@pytest.mark.behaviour("Z9")
def test_who_is_not_staff_changes_nothing(client_of, db):
    assert posted(client_of(make_user()), FACT, half_life_days="90").status_code == 302
    assert ranking_rules() == dict(KIND_DEFAULTS)


@pytest.mark.behaviour("F39", "F15")
@pytest.mark.parametrize(
    ("address", "field"), SETTINGS, ids=lambda value: value.split("/")[-4] if "/" in value else value
)
def test_nonsense_in_a_setting_is_an_error_in_the_form(staff, address, field):
    for value in NONSENSE:
        page = posted(staff, address, **{field: value})
        assert page.status_code == 200, value
        assert errors_of(page), value
    assert not ConfigVersion.objects.exists()


@pytest.mark.behaviour("F39", "F15")
@pytest.mark.parametrize(
    ("address", "field"), [(FACT, "half_life_days"), (FACT, "weight"), (FUSION, "contrast"), (FUSION, "rrf_k")]
)
def test_zero_is_an_error_in_the_form_where_it_makes_no_sense(staff, address, field):
    page = posted(staff, address, **{field: "0"})
    assert "not 0.0" in " ".join(errors_of(page)) or "'0.0'" in " ".join(errors_of(page))
    assert ranking_rules() == dict(KIND_DEFAULTS)
    assert fusion_rule() == FusionRule()


def test_settings_that_contradict_each_other_are_told(staff):
    assert "nothing would be found" in errors_of(posted(staff, FUSION, vector_weight="0", text_weight="0"))[0]
    assert "must be below" in errors_of(posted(staff, REFLECTION, cosine_min="0.95"))[0]
    assert "not be above" in errors_of(posted(staff, REFLECTION, min_members="20"))[0]


def test_an_unknown_curve_is_an_error_in_the_form(staff):
    assert errors_of(posted(staff, FACT, curve="cliff"))


def test_a_stale_form_is_told_and_changes_nothing(staff, owner):
    change_ranking(user=owner, kind="fact", half_life_days=90)
    page = staff.post(FACT, RANKING_VALUES | {"half_life_days": "10"}, follow=True)
    assert "version 2, not 1" in page.content.decode()
    assert ranking_rules()["fact"].half_life_days == 90


def test_the_change_page_tells_the_history_with_everything_escaped(staff, owner):
    change_ranking(user=owner, kind="fact", half_life_days=90, reason="<script>alert(1)</script>")
    page = staff.get(FACT).content.decode()
    assert "by owner: half_life_days 365 → 90. &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page


@pytest.mark.behaviour("Z8")
def test_a_row_is_removed_and_brought_back_through_the_services(staff):
    assert staff.post("/admin/memories/rankingconfig/task/delete/", {"post": "yes"}).status_code == 302
    assert ranking_rules()["task"] == KindRule(0.85, 365)
    added = staff.post(
        "/admin/memories/rankingconfig/add/",
        {"kind": "task", "weight": "0.7", "half_life_days": "14", "curve": "exponential", "expected_version": "0"},
    )
    assert added.status_code == 302
    assert ranking_rules() == dict(KIND_DEFAULTS)
    assert [version.version for version in ConfigVersion.objects.order_by("version")] == [2, 3]


def test_only_a_kind_without_a_row_can_be_added(staff):
    assert staff.get("/admin/memories/rankingconfig/add/").status_code == 403
    RankingConfig.objects.filter(kind="task").delete()
    page = staff.get("/admin/memories/rankingconfig/add/")
    assert re.findall(r'<option value="([^"]+)"', page.content.decode()) == ["task", "exponential", "linear"]


@pytest.mark.parametrize("model", ["memories/fusionconfig", "reflections/reflectionconfig"])
def test_a_single_row_is_neither_added_nor_deleted(staff, model):
    assert staff.get(f"/admin/{model}/add/").status_code == 403
    assert staff.post(f"/admin/{model}/1/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.behaviour("Z12")
def test_a_missing_single_row_can_be_written_again(staff):
    FusionConfig.objects.all().delete()
    answer = staff.post("/admin/memories/fusionconfig/add/", FUSION_VALUES | {"contrast": "2", "expected_version": "0"})
    assert answer.status_code == 302
    assert fusion_rule() == FusionRule(contrast=2)


def test_staff_without_other_rights_see_configuration_alone(staff):
    index = staff.get("/admin/").content.decode()
    assert "/admin/memories/rankingconfig/" in index
    assert "/admin/memories/memory/" not in index
    for model in ("memory", "user", "scope", "token", "auditentry"):
        assert staff.get(f"/admin/memories/{model}/").status_code == 403


PAGES = [
    "", "memories/rankingconfig/", "memories/fusionconfig/", "memories/configversion/", "memories/auditentry/",
    "memories/user/", "memories/user/add/", "memories/scope/", "memories/token/", "memories/memory/",
    "reflections/reflectionconfig/", "memories/rankingconfig/fact/history/",
]  # fmt: skip


@pytest.mark.parametrize("address", PAGES)
def test_every_page_opens(client_of, owner, address):
    scope = make_scope(owner)
    make_token(owner, [scope])
    make_memory(scope=scope)
    change_ranking(user=owner, kind="fact", weight=1)
    assert client_of(owner).get(f"/admin/{address}", follow=True).status_code == 200


@pytest.mark.behaviour("F32")
def test_a_memory_is_shown_escaped_and_cannot_be_changed(client_of, owner, scope):
    memory = make_memory("<script>alert(1)</script>", scope=scope)
    person, address = client_of(owner), f"/admin/memories/memory/{memory.pk}/change/"
    for page in (person.get(address), person.get("/admin/memories/memory/")):
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.content.decode()
        assert "<script>alert" not in page.content.decode()


@pytest.mark.behaviour("F9", "F13")
def test_the_administration_offers_no_way_around_the_services(client_of, owner, scope):
    memory = make_memory(scope=scope, kind="gotcha", pinned=True)
    person, address = client_of(owner), f"/admin/memories/memory/{memory.pk}/"
    before = Memory.objects.filter(pk=memory.pk).values().get()
    assert person.post(f"{address}change/", {"content": "Other text."}).status_code == 403
    assert person.post(f"{address}delete/", {"post": "yes"}).status_code == 403
    assert person.get("/admin/memories/memory/add/").status_code == 403
    assert Memory.objects.filter(pk=memory.pk).values().get() == before


@pytest.mark.behaviour("Z79")
def test_the_administration_shows_no_memory_that_the_person_may_not_read(client_of, owner, scope):
    foreign, own = make_memory("A foreign secret."), make_memory("My own.", scope=scope)
    person = client_of(owner)
    listed = person.get("/admin/memories/memory/").content.decode()
    assert "My own." in listed
    assert "A foreign secret." not in listed
    assert person.get(f"/admin/memories/memory/{foreign.pk}/change/").status_code == 302
    assert "My own." in person.get(f"/admin/memories/memory/?q={own.pk}").content.decode()
    assert "0 memories" in person.get(f"/admin/memories/memory/?q={foreign.pk}").content.decode()


@pytest.mark.parametrize("term", ["nonsense", "'", "0" * 500])
def test_a_search_for_what_is_no_id_finds_nothing(client_of, owner, scope, term):
    make_memory(scope=scope)
    page = client_of(owner).get(f"/admin/memories/memory/?q={term}")
    assert page.status_code == 200


def test_a_new_person_has_no_password_until_they_follow_a_link(client_of, owner):
    person = client_of(owner)
    answer = person.post(
        "/admin/memories/user/add/", {"username": "newcomer", "email": "newcomer@example.org"}, follow=True
    )
    newcomer = User.objects.get(username="newcomer")
    assert SIGN_IN_LINK.search(answer.content.decode())
    assert (newcomer.has_usable_password(), newcomer.must_choose_password, newcomer.is_staff) == (False, True, False)
    assert AuditEntry.objects.get(action="create_user").object_id == str(newcomer.pk)
    told = person.post(
        "/admin/memories/user/", {"action": "make_sign_in_link", "_selected_action": [newcomer.pk]}, follow=True
    ).content.decode()
    assert SIGN_IN_LINK.search(told)
    assert [link.expires_at > timezone.now() for link in SignInLink.objects.filter(user=newcomer).order_by("pk")] == [
        False,
        True,
    ]


def test_changing_an_account_is_audited_and_deleting_is_not_offered(client_of, owner):
    person, newcomer = client_of(owner), make_user(username="newcomer")
    address = f"/admin/memories/user/{newcomer.pk}/"
    assert person.post(f"{address}change/", {"username": "newcomer", "is_staff": "on"}).status_code == 302
    assert AuditEntry.objects.get(action="change_user").detail["fields"] == ["email", "is_active", "is_staff"]
    assert person.post(f"{address}delete/", {"post": "yes"}).status_code == 403


def test_the_secret_of_a_token_is_not_shown(client_of, owner, scope):
    token, _ = make_token(owner, [scope])
    page = client_of(owner).get(f"/admin/memories/token/{token.pk}/change/").content.decode()
    assert token.name in page
    assert token.secret_sha256 not in page


def test_kept_versions_and_audit_entries_cannot_be_changed(client_of, owner):
    change_ranking(user=owner, kind="fact", weight=1)
    person = client_of(owner)
    for model, row in (("configversion", ConfigVersion.objects.get()), ("auditentry", AuditEntry.objects.get())):
        address = f"/admin/memories/{model}/{row.pk}/"
        assert person.get(f"{address}change/").status_code == 200
        assert person.post(f"{address}change/", {"reason": "Another."}).status_code == 403
        assert person.post(f"{address}delete/", {"post": "yes"}).status_code == 403
