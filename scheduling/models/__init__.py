"""Tables of scheduling; one concept a file."""

from scheduling.models.decision import (
    Cycle,
    CycleOrder,
    EffectivePrice,
    Forecast,
    Loan,
    LoanSide,
    Preemption,
    Reservation,
    ReservationNode,
    SchedulerEpoch,
    WaitReason,
)
from scheduling.models.history import Observation, Transition, UtilisationHour, UtilisationSample
from scheduling.models.image_rule import ImageRule
from scheduling.models.job import Job, JobDataset, JobDependency, Role, RoleFlavor
from scheduling.models.node import Card, Node, NodeDomain, NodeInterval
from scheduling.models.pod_log import PodLog
from scheduling.models.pool_use import PoolUse
from scheduling.models.queue_use import QueueUse
from scheduling.models.resize import RunResize
from scheduling.models.run import ImportedEvent, Lease, LeaseSegment, Pod, Run, SegmentQuarantine, SplitChange
from scheduling.models.simulated import SimulatedCluster, SimulatedFault, SimulatedNode, SimulatedObject, SimulatedPod

__all__ = [
    "Card",
    "Cycle",
    "CycleOrder",
    "EffectivePrice",
    "Forecast",
    "ImageRule",
    "ImportedEvent",
    "Job",
    "JobDataset",
    "JobDependency",
    "Lease",
    "LeaseSegment",
    "Loan",
    "LoanSide",
    "Node",
    "NodeDomain",
    "NodeInterval",
    "Observation",
    "Pod",
    "PodLog",
    "PoolUse",
    "Preemption",
    "QueueUse",
    "Reservation",
    "ReservationNode",
    "Role",
    "RoleFlavor",
    "Run",
    "RunResize",
    "SchedulerEpoch",
    "SegmentQuarantine",
    "SimulatedCluster",
    "SimulatedFault",
    "SimulatedNode",
    "SimulatedObject",
    "SimulatedPod",
    "SplitChange",
    "Transition",
    "UtilisationHour",
    "UtilisationSample",
    "WaitReason",
]
