import pytest

from insights.words import count, days, percent


@pytest.mark.parametrize(
    ("share", "shown"),
    [(None, None), (0, "0 %"), (0.001, "under 1 %"), (0.294, "29 %"), (0.996, "over 99 %"), (1, "100 %")],
)
def test_a_share_is_rounded_honestly(share, shown):
    assert percent(share) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (None, None), (0, "0 days"), (0.44, "0.4 days"), (1, "1 day"), (1.04, "1 day"), (9.96, "10 days"),
        (45.2, "45 days"), (365, "365 days"), (3650, "10 years"), (1168, "3.2 years"), (36500, "100 years"),
    ],
)  # fmt: skip
def test_days_are_said_in_two_figures(number, shown):
    assert days(number) == shown


def test_counts_have_their_noun():
    assert count(1, "live memory") == "1 live memory"
    assert count(1204, "live memory") == "1,204 live memories"
    assert count(2, "scope") == "2 scopes"
    assert count(12000) == "12,000"
