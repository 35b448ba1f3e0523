"""What every system is given and gives back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from insights.quality.datasets import Dataset, Document
from tests.benchmarks.floor import K


@dataclass(frozen=True, slots=True)
class Answer:
    """Ids of documents, best first, and what the question took."""

    found: Sequence[str]
    seconds: float


@dataclass(frozen=True, slots=True)
class Answers:
    """*stored*: seconds until all documents were stored as the system is meant to find them."""

    system: str
    stored: float
    answers: Sequence[Answer]


def text_of(document: Document) -> str:
    return f"{document.speaker}: {document.text}" if document.speaker else document.text


def task_of(dataset: Dataset, **more: Any) -> Mapping[str, Any]:
    documents = [{"id": each.id, "corpus": each.corpus, "text": text_of(each)} for each in dataset.documents]
    return {
        "documents": [document for document in documents if document["text"].strip()],
        "questions": [{"corpus": query.corpus, "text": query.text} for query in dataset.queries],
        "k": K,
    } | more
