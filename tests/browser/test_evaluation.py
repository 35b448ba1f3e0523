"""The pages of the evaluation in a real browser: both themes, wide and on a phone."""

import pytest

from tests.browser.conftest import NARROW, WIDE
from tests.insights.evaluations import make_ageing_run, make_run


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
def test_the_pages_are_accessible_and_never_wider_than_the_screen(visit, owner, scope, size):
    window = visit(owner, size=size)
    addresses = ["/insights/quality/"]
    window.open(addresses[0])
    window.assert_accessible()
    make_run()
    addresses += [f"/insights/quality/{run.pk}/" for run in (make_run(curve=True, better_by=0.05), make_ageing_run())]
    for address in addresses:
        window.open(address)
        window.assert_accessible()
        window.assert_no_sideways_scroll()


def test_a_run_is_reached_from_the_page_of_ages(visit, owner, scope):
    run = make_run()
    page = visit(owner).open("/insights/")
    page.get_by_role("link", name="How well recall finds").click()
    page.get_by_role("link", name=run.name).click()
    page.wait_for_url(f"**/insights/quality/{run.pk}/")
    assert page.get_by_role("heading", level=1).inner_text() == "garden as fact"
