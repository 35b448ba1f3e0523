"""Run by the interpreter of the peer's own environment: ``python ask_mem0.py task.json``. Nothing is extracted by a
language model (``infer=False``); vectors come from the endpoint that the task names."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["MEM0_TELEMETRY"] = "False"

from mem0 import Memory


def memory_of(task: dict[str, Any]) -> Memory:
    store = {
        "connection_string": task["database"],
        "collection_name": "peer",
        "embedding_model_dims": task["dimensions"],
    }
    embedder = {"openai_base_url": task["endpoint"], "api_key": "none", "model": "local"}
    return Memory.from_config(
        {
            "vector_store": {"provider": "pgvector", "config": store},
            "embedder": {"provider": "openai", "config": embedder},
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
            "history_db_path": str(Path(task["folder"]) / "history.db"),
        }
    )


def answers(task: dict[str, Any]) -> dict[str, Any]:
    memory = memory_of(task)
    began = time.perf_counter()
    for document in task["documents"]:
        memory.add(document["text"], user_id=document["corpus"], metadata={"document": document["id"]}, infer=False)
    stored = time.perf_counter() - began
    return {"seconds": stored, "answers": [_answer(memory, question, task["k"]) for question in task["questions"]]}


def _answer(memory: Memory, question: dict[str, str], k: int) -> dict[str, Any]:
    began = time.perf_counter()
    found = memory.search(question["text"], top_k=k, filters={"user_id": question["corpus"]})["results"]
    seconds = time.perf_counter() - began
    return {"found": [one["metadata"]["document"] for one in found], "seconds": seconds}


if __name__ == "__main__":
    print(json.dumps(answers(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
