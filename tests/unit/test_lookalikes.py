import pytest

from zeromemory.lib.lookalikes import lookalikes


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("p\u0430ypal", [1]),
        ("see \u0410PI and \u0415TL", [4, 12]),
        ("\u039fpen the d\u03bfor", [0, 10]),
        ("r\uff4fot", [1]),
        ("pass\U0001d430ord", [4]),
        ("user_n\u0430me", [6]),
    ],
    ids=["cyrillic", "capitals", "greek", "wide", "mathematical", "identifier"],
)
def test_a_letter_that_passes_for_a_latin_one_amid_latin_ones_is_found(text, found):
    assert list(lookalikes(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "\u043f\u0430\u0440\u043e\u043b\u044c",
        "\u03bb and \u03bcs",
        "na\u00efve fa\u00e7ade",
        "\u5168\u89d2 \uff21\uff22",
        "caf\u0065\u0301",
        "",
    ],
    ids=["ascii", "russian", "greek letters", "accents", "wide alone", "combining", "empty"],
)
def test_honest_text_has_none(text):
    assert list(lookalikes(text)) == []
