import pytest
from django.core.management import CommandError, call_command

from tests.factories import make_scope, make_user

pytestmark = pytest.mark.django_db


def test_an_unknown_scope_is_answered_with_the_scopes_there_are(owner, scope):
    make_scope(owner, slug="work")
    make_scope(make_user(), slug="theirs")
    with pytest.raises(CommandError, match=r"There is no such scope here.* Scopes of owner: home, work\.$"):
        call_command("create_token", "agent", scope=["hime"], user="owner")


def test_a_person_without_scopes_is_told_so(owner):
    with pytest.raises(CommandError, match="none yet"):
        call_command("create_token", "agent", scope=["home"], user="owner")
