from memories.models.activity import RecallActivity
from memories.models.audit import AuditEntry
from memories.models.briefings import BriefingConfig
from memories.models.code import Anchor, CodeConfig, CodeLook, Repository
from memories.models.config import ConfigVersion, FusionConfig, FusionWeights, RankingConfig, ReinforcementConfig
from memories.models.embedders import EmbedderChange
from memories.models.graph import Entity, Link, MemoryEntity
from memories.models.memory import Embedding, Kind, Memory, Provenance, Window
from memories.models.oauth import OAuthClient, OAuthCode, OAuthGrant
from memories.models.people import SignInLink, User
from memories.models.retention import Alias, ArchiveSample, Regret, RetentionCycle, RetentionPolicy
from memories.models.scopes import Membership, Role, Scope, Token
from memories.models.signals import Reinforcement, Surfacing, UsageEvent
from memories.models.transfers import Import, ImportedMemory
from memories.models.verification import FreshnessConfig, Verification

__all__ = [
    "Alias",
    "Anchor",
    "ArchiveSample",
    "AuditEntry",
    "BriefingConfig",
    "CodeConfig",
    "CodeLook",
    "ConfigVersion",
    "EmbedderChange",
    "Embedding",
    "Entity",
    "FreshnessConfig",
    "FusionConfig",
    "FusionWeights",
    "Import",
    "ImportedMemory",
    "Kind",
    "Link",
    "Membership",
    "Memory",
    "MemoryEntity",
    "OAuthClient",
    "OAuthCode",
    "OAuthGrant",
    "Provenance",
    "RankingConfig",
    "RecallActivity",
    "Regret",
    "Reinforcement",
    "ReinforcementConfig",
    "Repository",
    "RetentionCycle",
    "RetentionPolicy",
    "Role",
    "Scope",
    "SignInLink",
    "Surfacing",
    "Token",
    "UsageEvent",
    "User",
    "Verification",
    "Window",
]
