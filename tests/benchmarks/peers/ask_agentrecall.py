"""Run by the interpreter of the peer's own environment: ``python ask_agentrecall.py task.json``. Words only."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from agentrecall import Memory


def answers(task: dict[str, Any]) -> dict[str, Any]:
    memory = Memory(str(Path(task["folder"]) / "agentrecall.db"), embeddings=False)
    began = time.perf_counter()
    for document in task["documents"]:
        memory.add(document["text"], namespace=document["corpus"], metadata={"document": document["id"]})
    stored = time.perf_counter() - began
    return {"seconds": stored, "answers": [_answer(memory, question, task["k"]) for question in task["questions"]]}


def _answer(memory: Memory, question: dict[str, str], k: int) -> dict[str, Any]:
    began = time.perf_counter()
    hits = memory.search(question["text"], k=k, namespace=question["corpus"])
    seconds = time.perf_counter() - began
    return {"found": [hit.record.metadata["document"] for hit in hits], "seconds": seconds}


if __name__ == "__main__":
    print(json.dumps(answers(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
