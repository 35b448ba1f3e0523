import pytest
from django.core.management import CommandError, call_command

from memories.models import Token
from tests.factories import make_scope, make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("asked", [{}, {"adjudicate": True}, {"read_only": True}])
def test_a_token_may_do_what_was_asked_for_and_no_more(owner, scope, asked, capsys):
    call_command("create_token", "agent", scope=["home"], user="owner", **asked)
    token = Token.objects.get()
    assert (token.can_write, token.can_adjudicate) == (not asked.get("read_only"), bool(asked.get("adjudicate")))
    assert capsys.readouterr().out.startswith("zm_")


def test_a_token_cannot_both_only_read_and_settle_disputes(owner, scope):
    with pytest.raises(CommandError, match="has to write"):
        call_command("create_token", "agent", scope=["home"], user="owner", read_only=True, adjudicate=True)
    assert not Token.objects.exists()


def test_an_unknown_scope_is_answered_with_the_scopes_there_are(owner, scope):
    make_scope(owner, slug="work")
    make_scope(make_user(), slug="theirs")
    with pytest.raises(CommandError, match=r"There is no such scope here.* Scopes of owner: home, work\.$"):
        call_command("create_token", "agent", scope=["hime"], user="owner")


def test_a_person_without_scopes_is_told_so(owner):
    with pytest.raises(CommandError, match="none yet"):
        call_command("create_token", "agent", scope=["home"], user="owner")
