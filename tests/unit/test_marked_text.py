import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.templatetags.text import marked


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\u200bb", "U+200B"),
        ("a\u200db", "U+200D"),
        ("a\u202eb", "U+202E"),
        ("a\u2066b", "U+2066"),
        ("a\u00adb", "U+00AD"),
        ("a\ufeffb", "U+FEFF"),
        ("a\u0007b", "U+0007"),
        ("a\rb", "U+000D"),
        ("a\u2028b", "U+2028"),
        ("a\u3164b", "U+3164"),
        ("a\U000e0041b", "U+E0041"),
        ("a\ufe0fb", "U+FE0F"),
    ],
)
def test_what_cannot_be_seen_is_shown_as_its_code_point(text, code):
    shown = marked(text)
    assert code in shown
    assert text[1] not in shown


@pytest.mark.parametrize(
    "text", ["plain", "two\nlines\tand a tab", "Grüße, Ελλάδα, 日本語, עברית", "👩\u200d💻 and ❤\ufe0f", "a\u00a0b"]
)
def test_what_can_be_seen_stays_as_it_is(text):
    assert marked(text) == text


def test_markup_is_text():
    assert marked("<b>&\u200b") == ('&lt;b&gt;&amp;<span class="control-char" title="ZERO WIDTH SPACE">U+200B</span>')


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
@pytest.mark.behaviour("F32")
def test_no_text_brings_a_tag_of_its_own(text):
    assert marked(text).count("<") == 2 * marked(text).count('class="control-char"')
