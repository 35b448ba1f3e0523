"""A sentence encoder in ONNX form with its tokenizer, run on the CPU."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zeromemory.embedding.text import LONGEST_WORD, break_long_words, encodable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

BATCH_TOKENS = 512  # padding included; larger batches took as much CPU time a text, and more memory
THREADS = 2


class OnnxModel:
    """Safe to call from many threads at once.

    The constructor raises whatever onnxruntime and tokenizers raise for files they cannot read.
    """

    def __init__(self, model: Path, tokenizer: Path, max_tokens: int) -> None:
        from tokenizers import Tokenizer

        definition = tokenizer.read_text(encoding="utf-8")
        self._session = _session(model)
        self._tokenizer = Tokenizer.from_str(definition)
        self._pad = _pad_id(self._tokenizer)
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._output = _output_name([entry.name for entry in self._session.get_outputs()])
        self._max_tokens = max_tokens

    @cached_property
    def dimensions(self) -> int:
        """Found by a run at full length, which fails if model, tokenizer and ``max_tokens`` do not fit together."""
        return int(self.encode(["probe " * self._max_tokens]).shape[1])

    def encode(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Mean of the token vectors of each text, shape (n, dimensions), not normalised."""
        safe = [break_long_words(encodable(text).lstrip()[: self._max_tokens * LONGEST_WORD])[0] for text in texts]
        encodings = self._tokenizer.encode_batch(safe)
        rows: dict[int, NDArray[np.floating]] = {}
        for batch in batches([len(encoding.ids) for encoding in encodings], BATCH_TOKENS):
            rows.update(zip(batch, self._run([encodings[row] for row in batch]), strict=True))
        return np.stack([rows[row] for row in range(len(texts))])

    def _run(self, encodings: "Sequence[Encoding]") -> NDArray[np.floating]:
        shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
        ids = np.full(shape, self._pad, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        offered = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        given = {name: value for name, value in offered.items() if name in self._inputs}
        [output] = self._session.run([self._output], given)
        return mean_pooled(output, mask) if output.ndim == 3 else output


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Row numbers from shortest to longest, so many at a time that rows x longest stays within the budget."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[row] > budget:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def mean_pooled(hidden: NDArray[np.floating], mask: NDArray[np.int64]) -> NDArray[np.floating]:
    weights = mask[:, :, None].astype(hidden.dtype)
    pooled: NDArray[np.floating] = (hidden * weights).sum(axis=1) / weights.sum(axis=1).clip(min=1)
    return pooled


def _session(model: Path) -> "InferenceSession":
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(THREADS, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Spinning threads would burn a core for a while after every query.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _output_name(names: list[str]) -> str:
    """A pooled output, where the model has one, carries the pooling it was trained with."""
    return "sentence_embedding" if "sentence_embedding" in names else names[0]


def _pad_id(tokenizer: "Tokenizer") -> int:
    if tokenizer.padding:
        return int(tokenizer.padding["pad_id"])
    return tokenizer.token_to_id("[PAD]") or tokenizer.token_to_id("<pad>") or 0
