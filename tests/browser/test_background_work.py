from tests.browser.conftest import NARROW


def test_background_work_is_accessible_and_fits_a_phone(visit, owner):
    window = visit(owner, size=NARROW)
    assert window.open("/runs/").get_by_role("heading", level=1).inner_text() == "Background work"
    window.assert_accessible()
    window.assert_no_sideways_scroll()
