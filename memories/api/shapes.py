"""What the REST interface takes and gives. Unknown fields are refused, so that a typo never passes silently."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt

from memories.code.verdicts import Verdict
from memories.services.validation import ENTITY_NAME_LENGTH, ENTITY_TYPE_LENGTH, MOST_ENTITIES, MOST_LINKS


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("contains a NUL character, which cannot be stored; remove it")
    return text


_VALID_FROM = "Shown, not enforced: a memory is recalled before this moment too."
CONFIDENCE = (
    "How sure it is: verified, inferred or unverified. Nothing said is inferred, another word counts as unverified."
)
Text = Annotated[str, AfterValidator(_storable)]
LinkType = Literal["relates_to", "supersedes", "contradicts", "derived_from"]
Ignored = Literal["age", "reinforcement", "structural"]
Confidence = Literal["unverified", "inferred", "verified"]


class Request(Schema):
    model_config = ConfigDict(extra="forbid")


class EntityIn(Request):
    name: Text = Field(min_length=1, max_length=ENTITY_NAME_LENGTH)
    type: Text = Field(default="thing", min_length=1, max_length=ENTITY_TYPE_LENGTH)


class LinkIn(Request):
    type: LinkType
    target: Text = Field(description="Id of a memory you may read; of one you may write for `supersedes`.")


class AnchorIn(Request):
    repository: Text = Field(max_length=80, description="The name of a registered repository.")
    path: Text = Field(max_length=1000, description="Of a file, from the top of the repository.")
    symbol: Text = Field(default="", max_length=500, description="A function, class or constant; empty for the file.")
    code: str = Field(default="", description="Its text, where only you see it: a working tree beside you.")


class RememberIn(Request):
    content: str = Field(description="Control characters are taken out, with a notice.")
    kind: Text = "fact"
    scope: Text | None = Field(default=None, description="Slug, or owner/slug. Optional if you write to one scope.")
    entities: list[EntityIn] = Field(default_factory=list, max_length=MOST_ENTITIES)
    links: list[LinkIn] = Field(default_factory=list, max_length=MOST_LINKS)
    anchors: list[AnchorIn] = Field(default_factory=list, max_length=20, description="The code that it is about.")
    source: Text = ""
    verbatim: str = ""
    session: Text = ""
    pinned: StrictBool = False
    confidence: Text = Field(default="", description=CONFIDENCE)
    created_at: datetime | None = Field(default=None, description="When it was learned; now if left out.")
    valid_from: datetime | None = Field(default=None, description=_VALID_FROM)
    valid_until: datetime | None = Field(default=None, description="From then on it is not recalled.")
    idempotency_key: Text = Field(default="", description="A retry with the same key and text gives the same memory.")


class EditIn(Request):
    content: str | None = Field(default=None, description="Control characters are taken out, with a notice.")
    kind: Text | None = None
    source: Text | None = None
    pinned: StrictBool | None = None
    confidence: Text | None = Field(default=None, description=CONFIDENCE)
    entities: list[EntityIn] | None = Field(default=None, max_length=MOST_ENTITIES)
    valid_from: datetime | None = Field(default=None, description=_VALID_FROM)
    valid_until: datetime | None = Field(default=None, description="From then on it is not recalled.")


class ReasonIn(Request):
    reason: Text = Field(default="", max_length=2000)


class CloseIn(ReasonIn):
    evidence: Text = Field(default="", max_length=2000, description="What shows it: a memory's id, or a sentence.")


class ReanchorIn(ReasonIn):
    anchors: list[UUID] | None = Field(default=None, max_length=20, description="Of these alone; all if left out.")


class CodeSeenIn(Request):
    """Code as it is in a working tree of your own. With neither fingerprint nor code it says that it is not there."""

    repository: Text = Field(max_length=80)
    path: Text = Field(max_length=1000)
    symbol: Text = Field(default="", max_length=500)
    fingerprint: Text = Field(default="", max_length=100)
    code: str = Field(default="", max_length=200_000)


class RecallIn(Request):
    query: Text
    scopes: list[Text] | None = Field(default=None, max_length=100)
    kinds: list[Text] | None = Field(default=None, max_length=100)
    k: StrictInt | None = Field(
        default=None,
        description="At most so many, from 1 to 50, and each text once. Left out: 10, or what its policy says where "
        "only decaying scopes are read.",
    )
    min_confidence: Confidence | None = Field(default=None, description="Leave out what is less sure, before ranking.")
    as_of: datetime | None = Field(default=None, description="Search what stood at this moment, which has been.")
    ignore: list[Ignored] = Field(default_factory=list, max_length=10)
    session: Text = Field(default="", max_length=120, description="Of the agent; the log of recalls shows it.")
    code_state: list[CodeSeenIn] = Field(
        default_factory=list, max_length=500, description="Goes before what the server sees, for this answer alone."
    )


class EntityOut(Schema):
    name: str
    type: str


class LinkOut(Schema):
    type: str
    direction: Literal["out", "in"]
    id: UUID
    headline: str
    state: str


class VersionOut(Schema):
    id: UUID
    version: int
    state: str
    created_at: datetime
    invalidated_at: datetime | None
    invalidated_by: str
    headline: str


class MemoryOut(Schema):
    id: UUID
    scope: str
    kind: str
    state: str
    version: int
    content: str
    truncated: bool
    provenance: int
    confidence: Confidence
    author_kind: str
    author: str | None
    agent: str
    session: str
    source: str
    pinned: bool
    created_at: datetime
    updated_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    invalidated_at: datetime | None
    invalidated_by: str
    invalidation_reason: str
    superseded_by: UUID | None
    embedded: bool
    entities: list[EntityOut]


class CheckOut(Schema):
    """One look at whether a memory still holds."""

    at: datetime
    verdict: Literal["current", "unverifiable"]
    method: Literal["person", "agent", "web_search"]
    by: str
    source: str
    note: str
    confidence: float | None
    model: str


class VerificationOut(Schema):
    """``stale_days`` since the last check, when that is past ``budget_days``; checks newest first."""

    stale_days: int | None
    budget_days: int | None
    checked_at: datetime | None
    checks: list[CheckOut]


class PlaceOut(BaseModel):
    path: str
    symbol: str


class AnchorOut(BaseModel):
    """Code that a memory is about. Only ``changed`` and ``gone`` lower its rank; of ``unknown`` nobody could look."""

    id: UUID
    repository: str
    path: str
    symbol: str = Field(description="A qualified name; empty for the whole file.")
    verdict: Verdict
    detail: str
    place: PlaceOut | None = Field(description="Where the code stands now, where that is another place.")
    fingerprint: str
    revision: str = Field(description="The commit that was checked out when it was set; empty where git did not know.")
    since: datetime


class MemoryWhole(MemoryOut):
    """``entities_recognised``: those among ``entities`` that were found in the text, because none was given."""

    verbatim: str
    accessed_at: datetime
    access_count: int
    weight: float
    newest_source_at: datetime | None
    reinforcement: float
    disputed: bool
    dispute_id: UUID | None
    verification: VerificationOut
    links: list[LinkOut]
    versions: list[VersionOut]
    entities_recognised: list[str]
    anchors: list[AnchorOut]


class ChangedOut(MemoryWhole):
    notices: list[str]


class MemoryPage(Schema):
    memories: list[MemoryOut]
    next_cursor: str | None


class SimilarOut(Schema):
    """``likeness`` from 0 to 1: the cosine, or how much of the wording is shared where that is more."""

    id: UUID
    headline: str
    likeness: float


class RememberOut(Schema):
    id: UUID
    scope: str
    deduplicated: bool
    entities_recognised: list[str]
    similar_existing: list[SimilarOut]
    anchors: list[AnchorOut]
    notices: list[str]


class FactorsOut(BaseModel):
    relevance: float
    kind: float
    age: float
    provenance: float
    reinforcement: float
    structural: float
    confidence: float


class RanksOut(BaseModel):
    vector: int | None
    text: int | None
    recency: int | None


class FusionOut(BaseModel):
    """How ``fused`` came about: the parts add up to the total; best is the highest total among the candidates."""

    parts: dict[str, float]
    total: float
    best: float


class ResultOut(BaseModel):
    id: UUID
    content: str
    truncated: bool
    kind: str
    scope: str
    created_at: datetime
    age_days: float
    score: float
    factors: FactorsOut
    ranks: RanksOut
    fused: float
    fusion: FusionOut
    similarity: float | None
    text_matched: int
    pinned: bool
    confidence: Confidence
    policy: str
    disputed: bool
    dispute_id: UUID | None
    stale_days: int | None
    anchors: list[AnchorOut]
    superseded_by: UUID | None
    why: str


class RecallOut(BaseModel):
    results: list[ResultOut]
    notices: list[str]
    policy: str
    took_ms: float


class ConfigOut(Schema):
    ranking: list[dict[str, Any]]
    fusion: dict[str, Any]
    weights: dict[str, Any]
    reinforcement: dict[str, Any]


class ErrorOut(Schema):
    code: str
    message: str
    field: str | None = None
