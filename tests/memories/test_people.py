import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from memories.errors import NotFound
from memories.models import AuditEntry, Scope, SignInLink, User
from memories.services import people
from tests.factories import PASSWORD, make_user

NEW_PASSWORD = "quite another passphrase"


@pytest.fixture
def person(db: None) -> User:
    return make_user(username="visitor")


def link_to(person: User) -> str:
    return reverse("sign_in_link", args=[people.create_sign_in_link(person)])


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


@pytest.mark.django_db
def test_the_first_start_makes_an_owner_without_a_password_and_with_a_scope():
    owner = people.create_owner()
    assert owner
    assert owner.is_superuser
    assert owner.must_choose_password
    assert not owner.has_usable_password()
    assert [scope.slug for scope in Scope.objects.filter(owner=owner)] == ["personal"]
    assert people.owner_without_password() == owner


def test_a_later_start_makes_nobody(person):
    assert people.create_owner() is None
    assert User.objects.count() == 1


def test_only_the_digest_of_a_link_is_stored(person):
    secret = people.create_sign_in_link(person)
    assert secret not in str(list(SignInLink.objects.values())) + str(list(AuditEntry.objects.values()))


def test_a_link_works_once(person):
    secret = people.create_sign_in_link(person)
    assert people.redeem(secret) == person
    with pytest.raises(NotFound):
        people.redeem(secret)


def test_a_link_ends_after_a_day(person):
    secret = people.create_sign_in_link(person)
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(NotFound):
        people.redeem(secret)


def test_a_fresh_link_replaces_the_one_before(person):
    first, second = people.create_sign_in_link(person), people.create_sign_in_link(person)
    assert not people.is_redeemable(first)
    assert people.is_redeemable(second)


def test_somebody_who_left_cannot_use_a_link(person):
    secret = people.create_sign_in_link(person)
    person.is_active = False
    person.save()
    with pytest.raises(NotFound):
        people.redeem(secret)


@pytest.mark.django_db(transaction=True)
def test_of_many_who_use_a_link_at_once_one_gets_in():
    secret = people.create_sign_in_link(make_user())
    outcomes: list[str] = []
    barrier = threading.Barrier(6)

    def use() -> None:
        barrier.wait()
        try:
            people.redeem(secret)
            outcomes.append("in")
        except NotFound:
            outcomes.append("too late")
        finally:
            connection.close()

    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["in"] + ["too late"] * 5


def test_a_preview_of_a_link_does_not_spend_it(client, person):
    path = link_to(person)
    for _ in range(3):
        assert client.get(path).status_code == 200
        assert client.head(path).status_code == 200
    assert not is_signed_in(client)
    client.post(path)
    assert is_signed_in(client)


def test_a_spent_link_says_how_to_get_another(client, person):
    path = link_to(person)
    Client().post(path)
    answers = [client.get(path), client.post(path), client.get(reverse("sign_in_link", args=["never-made"]))]
    for answer in answers:
        assert answer.status_code == 410
        assert "sign_in_link" in answer.content.decode()
    assert not is_signed_in(client)


@pytest.mark.behaviour("F35")
def test_whoever_came_by_a_link_sees_nothing_before_choosing_a_password(client, person):
    client.post(link_to(person))
    for path in ("/", "/memories/", "/insights/", "/admin/"):
        assert client.get(path).url == reverse("choose_password")


def test_a_chosen_password_opens_the_pages_and_signs_in_later(client, person):
    path = link_to(person)
    client.post(path)
    client.post(reverse("choose_password"), {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD})
    assert is_signed_in(client)
    assert Client().login(username="visitor", password=NEW_PASSWORD)
    assert not Client().login(username="visitor", password=PASSWORD)
    person.refresh_from_db()
    assert not person.must_choose_password


@pytest.mark.parametrize("password", ["short", "1234567890123", "password1234", ""])
def test_a_weak_password_is_refused_with_a_reason(client, person, password):
    client.post(link_to(person))
    answer = client.post(reverse("choose_password"), {"new_password1": password, "new_password2": password})
    assert answer.status_code == 422
    assert next(iter(answer.context["form"].errors)) == "new_password1"
    person.refresh_from_db()
    assert person.must_choose_password


@pytest.mark.behaviour("F35")
def test_a_stranger_cannot_choose_a_password(client, person):
    answer = client.post(reverse("choose_password"), {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD})
    assert answer.status_code == 302
    assert answer.url.startswith(reverse("sign_in"))


def test_signing_out_takes_a_post(client, person):
    client.force_login(person)
    assert client.get(reverse("sign_out")).status_code == 405
    client.post(reverse("sign_out"))
    assert not is_signed_in(client)


def test_signing_in_goes_back_to_the_page_that_was_asked_for_and_never_elsewhere(client, person):
    fields = {"username": "visitor", "password": PASSWORD}
    assert client.post(reverse("sign_in") + "?next=/memories/", fields | {"next": "/memories/"}).url == "/memories/"
    answer = Client().post(reverse("sign_in"), fields | {"next": "https://elsewhere.example/"})
    assert "elsewhere" not in answer.url


def test_wrong_passwords_lock_the_name_from_that_address_for_a_while(settings, client, person):
    settings.AXES_ENABLED = True
    wrong = {"username": "visitor", "password": "wrong"}
    answers = [client.post(reverse("sign_in"), wrong).status_code for _ in range(settings.AXES_FAILURE_LIMIT)]
    assert answers[0] == 200
    assert answers[-1] == 429
    locked = client.post(reverse("sign_in"), {"username": "visitor", "password": PASSWORD})
    assert locked.status_code == 429
    assert "Wait" in locked.content.decode()
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    assert elsewhere.post(reverse("sign_in"), {"username": "visitor", "password": PASSWORD}).status_code == 302


class TestForeignRequests:
    """F35: what a page on another site, or a form without its token, can do: nothing."""

    pytestmark = pytest.mark.behaviour("F35")

    def test_a_form_without_its_token_is_refused(self, person):
        client = Client(enforce_csrf_checks=True)
        assert client.post(reverse("sign_in"), {"username": "visitor", "password": PASSWORD}).status_code == 403
        assert client.post(link_to(person)).status_code == 403
        client.force_login(person)
        assert client.post(reverse("sign_out")).status_code == 403
        assert client.post(reverse("choose_password"), {"new_password1": NEW_PASSWORD}).status_code == 403

    def test_a_form_from_a_foreign_origin_is_refused_even_with_a_token(self, person):
        client = Client(enforce_csrf_checks=True)
        client.get(reverse("sign_in"))
        fields = {"username": "visitor", "password": PASSWORD, "csrfmiddlewaretoken": client.cookies["csrftoken"].value}
        foreign = client.post(reverse("sign_in"), fields, headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403
        own = client.post(reverse("sign_in"), fields, headers={"Origin": "http://testserver"})
        assert own.status_code == 302

    def test_a_host_that_is_not_ours_is_refused(self, client, person):
        assert client.get(reverse("sign_in"), headers={"Host": "rebound.example"}).status_code == 400

    def test_the_pages_cannot_be_framed_and_load_nothing_from_elsewhere(self, client, person):
        answer = client.get(reverse("sign_in"))
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]

    @pytest.mark.parametrize("path", ["/memories/", "/admin/"])
    def test_no_page_opens_without_signing_in_on_localhost_either(self, client, person, path):
        answer = client.get(path, headers={"Host": "localhost"}, follow=True)
        assert answer.redirect_chain[-1][0].startswith(reverse("sign_in"))


def test_whoever_has_a_password_changes_it_only_with_the_old_one(client_of, db):
    user = make_user()
    answer = client_of(user).post("/choose-password/", {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD})
    assert (answer.status_code, answer.url) == (302, "/settings/")
    assert Client().login(username=user.username, password=PASSWORD)


def test_a_name_longer_than_any_account_is_a_wrong_name(db):
    with override_settings(AXES_ENABLED=True):
        answer = Client().post("/sign-in/", {"username": "n" * 10_000, "password": "p" * 1000})
    assert answer.status_code == 200
    assert b"150" in answer.content


@pytest.mark.parametrize(
    "address", ["auditentry/?action=%00", "rankingconfig/?pk__in=%00", "rankingconfig/%00/change/"]
)
def test_an_administration_address_with_a_nul_is_refused(client_of, owner, address):
    assert client_of(owner).get(f"/admin/memories/{address}").status_code == 400


def test_a_password_repeated_wrongly_is_wrong_where_it_was_repeated(client, person):
    client.post(link_to(person))
    answer = client.post(reverse("choose_password"), {"new_password1": NEW_PASSWORD, "new_password2": "another one"})
    assert list(answer.context["form"].errors) == ["new_password2"]


def test_a_weak_new_password_in_the_settings_is_wrong_where_it_was_typed(client_of, db):
    sent = {"old_password": PASSWORD, "new_password1": "short", "new_password2": "short"}
    answer = client_of(make_user()).post(reverse("settings_password"), sent)
    assert list(answer.context["password"].errors) == ["new_password1"]
