"""Pages as tests read them: every named address, and an answer taken apart by a real parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    inside: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.inside).split())


class Html(HTMLParser):
    """Every element with its attributes and the text below it."""

    def __init__(self, response: Any) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.open: list[Element] = []
        self.feed(response.content.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        for position in range(len(self.open) - 1, -1, -1):
            if self.open[position].tag == tag:
                del self.open[position:]
                return

    def handle_data(self, text: str) -> None:
        for element in self.open:
            element.inside.append(text)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            element
            for element in self.elements
            if element.tag == tag and all(element.attributes.get(name) == value for name, value in wanted.items())
        ]

    def classed(self, name: str) -> list[Element]:
        return [element for element in self.elements if name in element.attributes.get("class", "").split()]

    def field(self, name: str) -> str:
        """What a browser would send for the field: of a text area its text, of a choice the selected one."""
        (element,) = [element for element in self.elements if element.attributes.get("name") == name][:1]
        if element.tag == "textarea":
            return "".join(element.inside).removeprefix("\n")
        return element.attributes.get("value", "")


def text_of(response: Any) -> str:
    """What is read on the page, without markup and scripts."""
    html = re.sub(r"<(script|head)\b.*?</\1>", "", response.content.decode(), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def named_pages() -> list[tuple[str, tuple[str, ...]]]:
    """Every page of our own: its name and the names of the values in its address. Not the API, not the admin."""
    return sorted(_named(get_resolver().url_patterns))


def _named(patterns: list[URLPattern | URLResolver]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if pattern.namespace is None:
                yield from _named(pattern.url_patterns)
        elif pattern.name:
            yield pattern.name, tuple(pattern.pattern.converters)
