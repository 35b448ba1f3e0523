from reflections.models.candidates import Candidate, CandidateMember
from reflections.models.config import HygieneConfig, ReflectionConfig
from reflections.models.disputes import Dispute, DisputeType
from reflections.models.failed_clusters import FailedCluster
from reflections.models.model_calls import ModelCall
from reflections.models.rules import StandingRule
from reflections.models.runs import Examined, Judged, Run, RunScope, RunStep, Watermark
from reflections.models.transcripts import Transcript

__all__ = [
    "Candidate",
    "CandidateMember",
    "Dispute",
    "DisputeType",
    "Examined",
    "FailedCluster",
    "HygieneConfig",
    "Judged",
    "ModelCall",
    "ReflectionConfig",
    "Run",
    "RunScope",
    "RunStep",
    "StandingRule",
    "Transcript",
    "Watermark",
]
