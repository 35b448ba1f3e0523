"""What every question to a model has: instructions, quoted texts, the form of the answer, and our own checks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field

from zeromemory.llm.fencing import Fence

LONGEST_TEXT: Final = 4000  # characters of one text in an answer


class UnusableAnswer(Exception):
    """The sentence is sent back to the model, which may try again."""


class Output(BaseModel):
    """The form of an answer. No field is guessed, converted or passed over."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


type Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Contract[T: Output](ABC):
    """A question. Subclasses are frozen dataclasses of what is shown to the model."""

    output: ClassVar[type[Output]]
    instructions: ClassVar[str]

    @abstractmethod
    def texts(self) -> Iterator[str]:
        """Every stored text of the prompt, for a fence that occurs in none of them."""

    @abstractmethod
    def prompt(self, fence: Fence) -> str:
        """The quoted texts and what is asked about them."""

    @abstractmethod
    def checked(self, value: T) -> T:
        """The value with everything taken out that was not shown. Raises UnusableAnswer."""

    def fence(self) -> Fence:
        return Fence.around(self.texts())

    def accepted(self, value: T, fence: Fence) -> T:
        """Raises UnusableAnswer where an answer of the right form cannot be used."""
        for text in texts_in(value.model_dump()):
            _refuse_unusable(text, fence)
        return self.checked(value)


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for part in value:
        yield from texts_in(part)


def _refuse_unusable(text: str, fence: Fence) -> None:
    if fence.appears_in(text):
        raise UnusableAnswer("The answer repeats the token of the quotation marks. Leave it out.")
    if len(text) > LONGEST_TEXT:
        raise UnusableAnswer(f"A text of the answer is longer than {LONGEST_TEXT} characters. Shorten it.")
    if "\x00" in text:
        raise UnusableAnswer("The answer contains a NUL character. Leave it out.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise UnusableAnswer("The answer contains half of a surrogate pair. Leave it out.")
