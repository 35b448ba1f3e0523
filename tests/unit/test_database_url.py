from urllib.parse import quote

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeromemory.database import explain
from zeromemory.lib.database_url import DatabaseUrlError, parse

pytestmark = pytest.mark.behaviour("F55")
ODD = [
    "pa$$word",
    "with#hash",
    "sl/ash",
    "what?",
    "a@b",
    "co:lon",
    """quo'te"s""",
    "sp ace",
    "$HOME",
    "100%",
    "ünï",
    "a=b&c",
]


@pytest.mark.parametrize("password", ODD)
def test_an_odd_password_is_read_as_it_was_pasted(password):
    address = parse(f"postgresql://visitor:{password}@db.example:5433/memory?sslmode=require")
    assert address.password == password
    assert (address.user, address.host, address.port, address.name) == ("visitor", "db.example", "5433", "memory")
    assert address.options == {"sslmode": "require"}


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: text.strip() == text))
def test_any_percent_encoded_password_comes_back_whole(password):
    assert parse(f"postgres://visitor:{quote(password, safe='')}@localhost/memory").password == password


def test_a_socket_folder_is_a_host():
    address = parse("postgresql://postgres@:5432/zeromemory?host=/var/run/a%20folder")
    assert (address.host, address.port, address.options) == ("/var/run/a folder", "5432", {})


def test_an_ipv6_host_loses_its_brackets():
    assert parse("postgres://visitor@[::1]:5432/memory").host == "::1"


@pytest.mark.parametrize(
    "url",
    ["", "sqlite:///x", "memory", "http://db/memory", "postgres://u:secret@h:port/d", "postgres://u:secret@h:70000/d"],
)
def test_what_is_no_address_is_refused_without_repeating_the_password(url):
    with pytest.raises(DatabaseUrlError) as refused:
        parse(url)
    assert "secret" not in str(refused.value)


def test_the_password_does_not_show_when_an_address_is_printed():
    assert "secret" not in repr(parse("postgres://visitor:secret@localhost/memory"))


def test_an_address_with_a_nul_is_refused():
    with pytest.raises(DatabaseUrlError, match="NUL"):
        parse("postgresql://visitor:a%00b@localhost/memory")


def refused(said: str, password: str = "p") -> str:
    settings = {"HOST": "localhost", "PORT": "5432", "USER": "visitor", "NAME": "memory", "PASSWORD": password}
    return explain(psycopg.OperationalError(said), settings)


def test_a_short_password_leaves_the_words_of_a_message_whole():
    assert "and accepting TCP/IP connections?" in refused("Is the server running and accepting TCP/IP connections?")


@pytest.mark.parametrize(
    "said",
    [
        'invalid address "postgresql://visitor:a secret@localhost/memory"',
        "bad parameter in host=localhost password='a secret' dbname=memory",
        "bad parameter in host=localhost password=secret dbname=memory",
    ],
)
def test_a_password_in_an_address_or_a_list_of_parameters_is_masked(said):
    shown = refused(said, "a secret")
    assert "secret" not in shown
    assert "***" in shown
    assert "memory" in shown
