from reflections.models.candidates import Candidate, CandidateMember
from reflections.models.config import ReflectionConfig
from reflections.models.disputes import Dispute, DisputeType
from reflections.models.model_calls import ModelCall
from reflections.models.runs import Run

__all__ = ["Candidate", "CandidateMember", "Dispute", "DisputeType", "ModelCall", "ReflectionConfig", "Run"]
