"""Attempts of jobs, their pods, and what each pod holds: the planner's truth of occupation and the basis of every bill."""

import pgtrigger
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeOperators
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduling.models.job import END_REASONS, Job
from scheduling.models.node import Card, Node
from scheduling.states import RUN_MOVES, RunState
from tenants.models import Cluster, Flavor
from tenants.scoping import scoped

WHOLE_UNITS = 7000
SHARES_SUM = """
    PERFORM 1 FROM scheduling_card WHERE id = NEW.card_id FOR UPDATE;
    IF NEW.quantity = 7000 THEN
        SELECT max(quantity) INTO held FROM scheduling_leasesegment
        WHERE card_id = NEW.card_id AND quantity < 7000 AND id IS DISTINCT FROM NEW.id AND during && NEW.during;
    ELSE
        WITH other AS (
            SELECT during, quantity FROM scheduling_leasesegment
            WHERE card_id = NEW.card_id AND id IS DISTINCT FROM NEW.id AND during && NEW.during
        ), edge AS (
            SELECT lower(NEW.during) AS at UNION SELECT lower(during) FROM other WHERE lower(during) > lower(NEW.during)
        )
        SELECT max(total) INTO held FROM (
            SELECT (SELECT coalesce(sum(quantity), 0) FROM other WHERE during @> edge.at) AS total FROM edge
        ) AS totals;
    END IF;
    IF held + NEW.quantity > 7000 THEN
        RAISE EXCEPTION 'card % is held by more than a whole card', NEW.card_id
            USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'one_card_one_holder';
    END IF;
    RETURN NEW;
"""
"""Shares of one card sum to at most one card at every instant; the card row is locked, so two writers cannot both fit.

Whole against whole is the exclusion constraint's; a whole one looks for shares only, by the index of shares, so that a bulk load
does not read the table once a row.
"""

OPEN_SUM = """
    IF NEW.quantity < 7000 THEN
        PERFORM 1 FROM scheduling_card WHERE id = NEW.card_id FOR UPDATE;
    END IF;
    SELECT coalesce(sum(quantity), 0) INTO held FROM scheduling_lease
    WHERE card_id = NEW.card_id AND quantity < 7000 AND closed_at IS NULL;
    IF NEW.quantity < 7000 AND EXISTS (
        SELECT FROM scheduling_lease WHERE card_id = NEW.card_id AND quantity = 7000 AND closed_at IS NULL
    ) THEN
        held := 7000;
    END IF;
    IF held + NEW.quantity > 7000 THEN
        RAISE EXCEPTION 'card % would be held by more than a whole card', NEW.card_id
            USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'one_card_open_leases';
    END IF;
    RETURN NEW;
"""
"""The same of leases that are open now. Whole against whole is the unique index's; a whole one looks for shares only."""

RUN_STATES = [(state.value, state.value) for state in RunState]
ACTIVE = Q(state__in=["admitted", "starting", "running", "stopping"])
PRESENT = Q(released_at__isnull=True)
"""Pods that were not asked to leave a run that goes on without them."""


class Run(models.Model):
    """One attempt of a job. At most one per job is not ended. Times are the cluster's own; `token_digest` authenticates its pods."""

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="runs")
    number = models.PositiveIntegerField()
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT)
    namespace = models.CharField(max_length=63)
    state = models.CharField(max_length=10, choices=RUN_STATES, default=RunState.ADMITTED.value)
    epoch = models.BigIntegerField(default=0)
    admitted_at = models.DateTimeField()
    admitted_wall = models.DateTimeField()
    dispatched_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    stopping_at = models.DateTimeField(null=True, blank=True)
    grace_until = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    last_sign_at = models.DateTimeField(null=True, blank=True)
    stop_reason = models.CharField(max_length=16, blank=True, default="")
    end_reason = models.CharField(max_length=16, choices=END_REASONS, blank=True, default="")
    end_message = models.CharField(max_length=1000, blank=True, default="")
    exit_code = models.IntegerField(null=True, blank=True)
    fenced = models.BooleanField(default=False)
    budget_reserved = models.DecimalField(max_digits=20, decimal_places=6, default=0)
    force_deleted_at = models.DateTimeField(null=True, blank=True)
    slowdown_ppm = models.BigIntegerField(default=0)
    levels_crossed = models.CharField(max_length=200, blank=True, default="")
    resumes = models.BooleanField(default=False)

    token_digest = models.CharField(max_length=64, blank=True, default="")
    progress_ppm = models.PositiveIntegerField(null=True, blank=True)
    step = models.BigIntegerField(null=True, blank=True)
    loss = models.FloatField(null=True, blank=True)
    wanted_size = models.PositiveIntegerField(null=True, blank=True)
    checkpoint_state = models.CharField(max_length=8, blank=True, default="")
    checkpoint_path = models.CharField(max_length=500, blank=True, default="")
    checkpoint_at = models.DateTimeField(null=True, blank=True)
    reported_at = models.DateTimeField(null=True, blank=True)
    peak_vram_mib = models.BigIntegerField(null=True, blank=True)
    last_resize_at = models.DateTimeField(null=True, blank=True)

    objects = models.Manager.from_queryset(scoped("job__tenant"))()

    class Meta:
        ordering = ["job_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="run_number_once_a_job"),
            models.UniqueConstraint(fields=["job"], condition=ACTIVE, name="one_live_run_a_job"),
            models.CheckConstraint(condition=Q(state__in=[state.value for state in RunState]), name="run_state_known"),
            models.CheckConstraint(
                condition=Q(state="ended", ended_at__isnull=False) | (~Q(state="ended") & Q(ended_at__isnull=True)),
                name="run_ended_at_iff_ended",
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=ACTIVE, name="run_live"),
            models.Index(fields=["token_digest"], condition=~Q(token_digest=""), name="run_of_a_token"),
        ]
        triggers = [
            pgtrigger.FSM(
                name="run_moves",
                field="state",
                transitions=[(old.value, new.value) for old in RunState for new in sorted(RUN_MOVES[old])],
            ),
            pgtrigger.Protect(name="runs_are_kept", operation=pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return f"j{self.job_id}-r{self.number}"


class Pod(models.Model):
    """One pod of a run, by its deterministic name; `uid` and times are the cluster's.

    `joined_at` is set where it came to a run that had begun, `released_at` where it was asked to leave one that goes on, by
    `leave_until` (SCH-10), and `notice_at` where that was for others' sake: from then on it is not charged (BIL-05). A name that was released may be another pod's later, with a uid of its own.
    """

    class Phase(models.TextChoices):
        PLANNED = "planned", _("planned")
        PENDING = "pending", _("pending")
        RUNNING = "running", _("running")
        SUCCEEDED = "succeeded", _("succeeded")
        FAILED = "failed", _("failed")
        GONE = "gone", _("gone")

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="pods")
    role_name = models.CharField(max_length=40)
    rank = models.PositiveIntegerField()
    index = models.PositiveIntegerField()
    name = models.CharField(max_length=253)
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="pods")
    uid = models.CharField(max_length=64, blank=True, default="")
    phase = models.CharField(max_length=10, choices=Phase, default=Phase.PLANNED)
    in_gang = models.BooleanField(default=True)
    created_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    exit_code = models.IntegerField(null=True, blank=True)
    reason = models.CharField(max_length=60, blank=True, default="")
    message = models.CharField(max_length=1000, blank=True, default="")
    last_sign_at = models.DateTimeField(null=True, blank=True)
    joined_at = models.DateTimeField(null=True, blank=True)
    released_at = models.DateTimeField(null=True, blank=True)
    notice_at = models.DateTimeField(null=True, blank=True)
    leave_until = models.DateTimeField(null=True, blank=True)
    release_reason = models.CharField(max_length=40, blank=True, default="")
    force_deleted_at = models.DateTimeField(null=True, blank=True)

    objects = models.Manager.from_queryset(scoped("run__job__tenant"))()

    class Meta:
        ordering = ["run_id", "rank"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "role_name", "index"], condition=PRESENT, name="pod_index_once_a_run"
            ),
            models.UniqueConstraint(fields=["run", "name"], condition=PRESENT, name="pod_of_a_name_once_a_run"),
        ]
        indexes = [
            models.Index(
                fields=["run"],
                condition=Q(released_at__isnull=False, phase__in=["planned", "pending", "running"]),
                name="pod_leaving",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Lease(models.Model):
    """One pod's hold on one slot: a whole card, a MIG instance or a share of one card; a pod without cards has one lease, card null.

    `quantity` is in 1/7000 card (whole 7000). CPU and memory of the pod are on its slot 0. Open until `closed_at`.
    """

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="leases")
    pod = models.ForeignKey(Pod, on_delete=models.PROTECT, related_name="leases")
    slot = models.PositiveSmallIntegerField()
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="leases")
    card = models.ForeignKey(Card, null=True, blank=True, on_delete=models.PROTECT, related_name="leases")
    flavor = models.ForeignKey(Flavor, null=True, blank=True, on_delete=models.PROTECT)
    quantity = models.PositiveIntegerField(default=0)
    borrowed = models.BooleanField(default=False)
    cpu_m = models.BigIntegerField(default=0)
    memory_mib = models.BigIntegerField(default=0)
    vram_mib = models.BigIntegerField(default=0)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    objects = models.Manager.from_queryset(scoped("run__job__tenant"))()

    class Meta:
        ordering = ["run_id", "pod_id", "slot"]
        constraints = [
            models.UniqueConstraint(fields=["pod", "slot"], name="lease_once_a_slot"),
            models.CheckConstraint(condition=Q(quantity__lte=WHOLE_UNITS), name="lease_at_most_a_card"),
            models.UniqueConstraint(
                fields=["card"],
                condition=Q(closed_at__isnull=True, quantity=WHOLE_UNITS),
                name="whole_card_one_open_lease",
            ),
        ]
        indexes = [
            models.Index(fields=["run"], condition=Q(closed_at__isnull=True), name="lease_open"),
            models.Index(fields=["closed_at"], name="lease_closed"),
            models.Index(
                fields=["card"], condition=Q(closed_at__isnull=True, quantity__lt=WHOLE_UNITS), name="lease_open_share"
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="open_shares_sum_to_a_card",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert,
                condition=pgtrigger.Condition("NEW.card_id IS NOT NULL AND NEW.closed_at IS NULL"),
                declare=[("held", "BIGINT")],
                func=OPEN_SUM,
            )
        ]

    def __str__(self) -> str:
        return f"{self.pod_id}/{self.slot}"


class SplitChange(models.Model):
    """Until `at` an open lease counted as `borrowed`, and as the opposite from then on: a cycle changed the split (SCH-03).

    It becomes a bound between two segments when the hold ends and the cluster's own times are known, never before: at `at` the
    pod may have ended, or its node fallen silent, without anybody having seen it yet.
    """

    lease = models.ForeignKey(Lease, on_delete=models.PROTECT, related_name="split_changes")
    at = models.DateTimeField()
    borrowed = models.BooleanField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.lease_id}@{self.at}"


class LeaseSegment(models.Model):
    """A stretch of a lease with one billing meaning, in the cluster's own times, half open, UTC (BIL-01, BIL-02, BIL-05)."""

    class Kind(models.TextChoices):
        BILLABLE = "billable", _("charged")
        GRACE = "grace", _("grace after an eviction notice")
        FAULT = "fault", _("platform fault")
        AFTER_LAST_SIGN = "after-last-sign", _("after the last sign of life")

    lease = models.ForeignKey(Lease, on_delete=models.PROTECT, related_name="segments")
    card = models.ForeignKey(Card, null=True, blank=True, on_delete=models.PROTECT, related_name="segments")
    kind = models.CharField(max_length=16, choices=Kind)
    during = DateTimeRangeField()
    quantity = models.PositiveIntegerField()
    borrowed = models.BooleanField(default=False)

    objects = models.Manager.from_queryset(scoped("lease__run__job__tenant"))()

    class Meta:
        ordering = ["id"]
        constraints = [
            ExclusionConstraint(
                name="one_card_one_holder",
                expressions=[("card", RangeOperators.EQUAL), ("during", RangeOperators.OVERLAPS)],
                condition=Q(card__isnull=False, quantity=WHOLE_UNITS),
            ),
            ExclusionConstraint(
                name="lease_segments_apart",
                expressions=[("lease", RangeOperators.EQUAL), ("during", RangeOperators.OVERLAPS)],
            ),
            models.CheckConstraint(condition=Q(during__isempty=False), name="segment_not_empty"),
        ]
        indexes = [models.Index(fields=["card"], condition=Q(quantity__lt=WHOLE_UNITS), name="segment_of_a_share")]
        triggers = [
            pgtrigger.Trigger(
                name="shares_sum_to_a_card",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert | pgtrigger.Update,
                condition=pgtrigger.Condition("NEW.card_id IS NOT NULL"),
                declare=[("held", "BIGINT")],
                func=SHARES_SUM,
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.during}"


class SegmentQuarantine(models.Model):
    """A segment that the database refused (overlap, bad clock): kept with its reason, never blocks a start, raises an alarm."""

    lease = models.ForeignKey(Lease, on_delete=models.CASCADE, related_name="quarantined")
    kind = models.CharField(max_length=16)
    start_at = models.DateTimeField()
    end_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=500)
    created_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.reason


class ImportedEvent(models.Model):
    """Identity of one imported usage row: `(source, event_id)` for ever, and a digest of its content."""

    source = models.CharField(max_length=64)
    event_id = models.CharField(max_length=200)
    content_digest = models.CharField(max_length=64)
    lease = models.ForeignKey(Lease, on_delete=models.PROTECT, related_name="+")
    imported_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "event_id"], name="imported_event_once")]

    def __str__(self) -> str:
        return f"{self.source}/{self.event_id}"
