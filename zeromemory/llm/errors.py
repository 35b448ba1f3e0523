"""Why a model gave no answer. Each message is a sentence a person can act on, and each error counts what it cost."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

type Mask = Callable[[str], str]  # a text without the secrets in it


MOST_TOKENS: Final = 2**31 - 1  # a record keeps no more
CHARACTERS_PER_TOKEN: Final = 4  # by estimate


@dataclass(slots=True)
class Spent:
    """What one ``ask`` has cost so far, and what the model said. ``requests`` counts those sent over HTTP. The tokens
    are ``estimated`` where a server did not report them all."""

    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    raw: list[str] = field(default_factory=list)
    estimated: bool = False

    def add(self, *, read: int, written: int) -> None:
        """So many tokens more."""
        self.input_tokens = min(self.input_tokens + read, MOST_TOKENS)
        self.output_tokens = min(self.output_tokens + written, MOST_TOKENS)

    def tokens(self, reported: int, characters: int) -> int:
        """What was reported; by estimate, and at least 1, where that can be no report."""
        if reported > 0:
            return reported
        self.estimated = True
        return max(characters // CHARACTERS_PER_TOKEN, 1)


class ModelError(Exception):
    """``retryable`` is true when the same question may be answered later with nothing changed."""

    def __init__(self, message: str, *, spent: Spent | None = None, retryable: bool = False) -> None:
        super().__init__(message)
        self.spent = spent or Spent()
        self.retryable = retryable

    @property
    def input_tokens(self) -> int:
        return self.spent.input_tokens

    @property
    def output_tokens(self) -> int:
        return self.spent.output_tokens

    @property
    def requests(self) -> int:
        return self.spent.requests

    @property
    def estimated(self) -> bool:
        return self.spent.estimated


class ModelUnavailable(ModelError):
    """No answer came: network, time-out, a failing server, a refused key, or no model at all."""


class SearchUnsupported(ModelUnavailable):
    """The provider, which is named, has no web search: asking about another fact would fare no better."""

    def __init__(self, message: str, *, provider: str, spent: Spent | None = None) -> None:
        super().__init__(message, spent=spent)
        self.provider = provider


class ModelTimedOut(ModelUnavailable):
    """No answer came in time: the server is slow, or this question is too much for it."""

    def __init__(self, message: str, *, spent: Spent | None = None) -> None:
        super().__init__(message, spent=spent, retryable=True)


class ModelBusy(ModelError):
    """The provider asked to wait longer than a job should."""

    def __init__(self, message: str, *, spent: Spent | None = None) -> None:
        super().__init__(message, spent=spent, retryable=True)


class ModelRejected(ModelError):
    """Answers came and none could be used. ``raw`` holds them, cut to a bounded length, ``reasons`` what was wrong."""

    def __init__(self, message: str, *, spent: Spent, reasons: tuple[str, ...] = ()) -> None:
        super().__init__(message, spent=spent)
        self.raw = tuple(spent.raw)
        self.reasons = reasons


class QuestionRefused(ModelRejected):
    """This one question cannot be asked: it is too long, or it was refused; others may well be answered.

    ``may_be_settings`` is true where the server does not say why, so that it may refuse every question.
    """

    def __init__(self, message: str, *, spent: Spent, may_be_settings: bool = False) -> None:
        super().__init__(message, spent=spent)
        self.raw = ()
        self.may_be_settings = may_be_settings
