"""Asking a language model: contracts of what is asked and answered, ``ask``, and ``search``, which looks up the web.
Nothing else talks to one.

Importing this package imports no model library; the first question does.
"""

from zeromemory.llm.asking import Answer, ask
from zeromemory.llm.choice import ModelChoice, model_in_use
from zeromemory.llm.contract import Contract, Output
from zeromemory.llm.contracts import (
    CheckWorldFact,
    CloseLoop,
    Distil,
    Distillate,
    Episode,
    Finding,
    JudgePair,
    JudgeUsefulness,
    KindAudit,
    KindVerdict,
    LoopVerdict,
    MemoryShown,
    PairVerdict,
    Sentence,
    Usefulness,
    UsefulnessVerdicts,
    WorldFactVerdict,
)
from zeromemory.llm.errors import (
    ModelBusy,
    ModelError,
    ModelRejected,
    ModelTimedOut,
    ModelUnavailable,
    QuestionRefused,
    SearchUnsupported,
)
from zeromemory.llm.searching import LookUp, Searched, search
from zeromemory.llm.summarising import Disagreement, Summarise, Summary

__all__ = [
    "Answer",
    "CheckWorldFact",
    "CloseLoop",
    "Contract",
    "Disagreement",
    "Distil",
    "Distillate",
    "Episode",
    "Finding",
    "JudgePair",
    "JudgeUsefulness",
    "KindAudit",
    "KindVerdict",
    "LookUp",
    "LoopVerdict",
    "MemoryShown",
    "ModelBusy",
    "ModelChoice",
    "ModelError",
    "ModelRejected",
    "ModelTimedOut",
    "ModelUnavailable",
    "Output",
    "PairVerdict",
    "QuestionRefused",
    "SearchUnsupported",
    "Searched",
    "Sentence",
    "Summarise",
    "Summary",
    "Usefulness",
    "UsefulnessVerdicts",
    "WorldFactVerdict",
    "ask",
    "model_in_use",
    "search",
]
