"""The product on the documents of a retrieval set: imported, embedded by the worker, asked over REST."""

import json
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from django.core.management import call_command

from insights.quality.datasets import Dataset, Document
from memories.models import Memory, Scope, User
from memories.services import people
from tests.benchmarks import databases, ingest, product
from tests.benchmarks.floor import K
from tests.benchmarks.peers.task import Answer, Answers, text_of
from tests.benchmarks.product import Client

NAME: Final = "Zero Memory, REST"
UNDATED: Final = datetime(2025, 1, 1, tzinfo=UTC)


def answers(dataset: Dataset, folder: Path) -> Answers:
    name = databases.name_of("peer_ours")
    databases.drop(name)
    with databases.opened(name) as connection:
        owner = people.create_owner() or User.objects.get(username=people.OWNER)
        slugs = {corpus: f"corpus-{at}" for at, corpus in enumerate(dataset.corpora)}
        for slug in slugs.values():
            Scope.objects.create(owner=owner, slug=slug, name=slug)
        tokens = {corpus: product.token_for(slug) for corpus, slug in slugs.items()}
        file = _written(dataset, slugs, folder)
        with product.running(name, ingest.PROGRAMS) as server:
            began = time.perf_counter()
            call_command("import_memories", str(file), user=people.OWNER, stdout=sys.stderr)
            ingest.wait(connection)
            stored = time.perf_counter() - began
            clients = {corpus: Client(server, secret) for corpus, secret in tokens.items()}
            documents = {str(id): external for id, external in Memory.objects.values_list("pk", "external_id")}
            answers = [_answer(clients[query.corpus], query.text, documents) for query in dataset.queries]
    databases.drop(name)
    return Answers(NAME, stored, answers)


def _answer(client: Client, question: str, documents: Mapping[str, str]) -> Answer:
    began = time.perf_counter()
    answer = client.post("/recall", {"query": question, "k": K})
    seconds = time.perf_counter() - began
    return Answer([documents[result["id"]] for result in json.loads(answer)["results"]], seconds)


def _written(dataset: Dataset, slugs: Mapping[str, str], folder: Path) -> Path:
    """Facts, dated so that the newest of a corpus is a day old: that is when somebody would ask."""
    newest = {
        corpus: max(_at(document) for document in dataset.documents if document.corpus == corpus) for corpus in slugs
    }
    yesterday = datetime.now(UTC) - timedelta(days=1)
    lines = [
        json.dumps(
            {
                "content": text_of(document),
                "scope": slugs[document.corpus],
                "external_id": document.id,
                "session": document.session,
                "created_at": (yesterday - (newest[document.corpus] - _at(document))).isoformat(),
            }
        )
        for document in dataset.documents
    ]
    file = folder / "ours.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def _at(document: Document) -> datetime:
    return (document.time or UNDATED) + timedelta(seconds=document.order)
