"""Closed lists shared by engine, loop and doors: tiers, modes, states, wait codes, preempt reasons (docs/reasons.md)."""

from enum import IntEnum, StrEnum


class Tier(IntEnum):
    """SCH-01; the larger value is considered first."""

    BATCH = 0
    DEVELOPMENT = 1
    PRODUCTION = 2

    @property
    def label(self) -> str:
        return self.name.lower()


class CardMode(StrEnum):
    WHOLE = "whole"
    SHARED = "shared"
    MIG = "mig"
    ANY = "any"
    NONE = "none"


class NodeState(IntEnum):
    READY = 0
    CORDONED = 1
    NOT_READY = 2
    LOST = 3


class TopologyMode(StrEnum):
    NONE = "none"
    PREFERRED = "preferred"
    REQUIRED = "required"


class WaitCode(StrEnum):
    """Why a job waits. The order is the contract's: the first that applies wins."""

    SUSPENDED = "suspended"
    NOT_BEFORE = "not-before"
    DEPENDENCY = "dependency"
    ARRAY_LIMIT = "array-limit"
    BUDGET = "budget"
    BACKOFF = "backoff"
    MAINTENANCE = "maintenance"
    CLUSTER_UNREACHABLE = "cluster-unreachable"
    NODE_LOST = "node-lost"
    IMPOSSIBLE = "impossible"
    PLANNER_FAULT = "planner-fault"
    KEPT_FOR_PREEMPTED = "kept-for-preempted"
    QUOTA_NOMINAL = "quota-nominal"
    QUOTA_BORROW_LIMIT = "quota-borrow-limit"
    CARDS_BUSY = "cards-busy"
    CPU_BUSY = "cpu-busy"
    MEMORY_BUSY = "memory-busy"
    FRAGMENTED = "fragmented"
    TOPOLOGY = "topology"
    RESERVED = "reserved"
    FAIR_SHARE = "fair-share"


class PreemptReason(StrEnum):
    """Why a run is evicted. The order is the contract's: the first that applies."""

    DRAIN = "drain"
    WATERMARK = "watermark"
    YIELD = "yield"
    LOAN_EXPIRED = "loan-expired"
    RECLAIM_NOMINAL = "reclaim-nominal"
    PRIORITY = "priority"
    FAIR_SHARE = "fair-share"
    TIME_SHARE = "time-share"


class ReservationKind(StrEnum):
    MANUAL = "manual"
    FORECAST = "forecast"
    BACKFILL = "backfill"
    KEPT_FOR_JOB = "kept-for-job"
