"""What cycles decided and why: cycles, wait reasons, preemptions, loans, reservations, forecasts, transitions."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduling.models.job import Job
from scheduling.models.node import Node
from scheduling.models.run import Run
from tenants.models import Cohort, Flavor, Queue, Tenant
from tenants.scoping import scoped


class Cycle(models.Model):
    """One pass of the loop. Kept: the last 1,000 and failed ones; `snapshot` is stored for those kept for replay."""

    epoch = models.BigIntegerField()
    at = models.DateTimeField()
    wall_at = models.DateTimeField()
    load_ms = models.PositiveIntegerField(default=0)
    plan_ms = models.PositiveIntegerField(default=0)
    apply_ms = models.PositiveIntegerField(default=0)
    duration_ms = models.PositiveIntegerField(default=0)
    admitted = models.PositiveIntegerField(default=0)
    preempted = models.PositiveIntegerField(default=0)
    waiting = models.PositiveIntegerField(default=0)
    dropped = models.PositiveIntegerField(default=0)
    by_reason = models.JSONField(default=dict)
    failed = models.BooleanField(default=False)
    error = models.CharField(max_length=2000, blank=True, default="")
    snapshot = models.BinaryField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return str(self.pk)


class CycleOrder(models.Model):
    """The last cycle's order of all waiting jobs: one row, replaced by each cycle that changes it. Positions derive from it."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    cycle_id = models.BigIntegerField()
    job_ids = ArrayField(models.BigIntegerField(), default=list)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="cycle_order_is_one_row")]

    def __str__(self) -> str:
        return f"order of cycle {self.cycle_id}"


class SchedulerEpoch(models.Model):
    """The leader: `epoch` rises on take-over only; the lease runs by the database's clock.

    `turn` is who of the leader's processes is at work now, "" between two turns.
    """

    name = models.CharField(max_length=40, primary_key=True)
    epoch = models.BigIntegerField(default=0)
    holder = models.CharField(max_length=120, blank=True, default="")
    turn = models.CharField(max_length=120, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    last_cycle_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name} {self.epoch}"


class WaitReason(models.Model):
    """Why a job waits, with numbers; a new row only when code or numbers change, the old one is closed by `until`."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="wait_reasons")
    code = models.CharField(max_length=24)
    since = models.DateTimeField()
    until = models.DateTimeField(null=True, blank=True)
    cycle_id = models.BigIntegerField(null=True)
    need = models.JSONField(default=dict)
    have = models.JSONField(default=dict)
    short = models.JSONField(default=dict)
    holders = models.JSONField(default=list)
    suggestion = models.CharField(max_length=40, blank=True, default="")
    hint = models.JSONField(default=dict)
    detail = models.CharField(max_length=1000, blank=True, default="")
    reserved_start = models.DateTimeField(null=True, blank=True)
    kept_nodes = ArrayField(models.CharField(max_length=253), default=list)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["job"], condition=Q(until__isnull=True), name="one_current_wait_reason")
        ]

    def __str__(self) -> str:
        return self.code


class Preemption(models.Model):
    """One notice to one run: exactly one per victim and decision (I7). Never withdrawn."""

    class Outcome(models.TextChoices):
        PENDING = "pending", _("leaving")
        LEFT = "left", _("left within its grace")
        FORCED = "forced", _("ended by force")
        FINISHED = "finished", _("finished by itself")

    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="preemption")
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="preemption_records")
    for_job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.CharField(max_length=20)
    notice_at = models.DateTimeField()
    grace_until = models.DateTimeField()
    outcome = models.CharField(max_length=10, choices=Outcome, default=Outcome.PENDING)
    left_at = models.DateTimeField(null=True, blank=True)
    lost_card_s = models.BigIntegerField(default=0)
    cycle_id = models.BigIntegerField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.reason} of run {self.run_id}"


class Loan(models.Model):
    """Borrowed cards of one run and flavor (milli-cards): opened, expires, ended and why (SCH-16)."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="loans")
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="loans")
    flavor = models.ForeignKey(Flavor, on_delete=models.PROTECT)
    amount_m = models.BigIntegerField()
    opened_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    renewals = models.PositiveIntegerField(default=0)
    ended_at = models.DateTimeField(null=True, blank=True)
    why = models.CharField(max_length=20, blank=True, default="")

    objects = models.Manager.from_queryset(scoped("queue__tenant"))()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(amount_m__gt=0), name="loan_amount_positive"),
            models.UniqueConstraint(
                fields=["run", "flavor"], condition=Q(ended_at__isnull=True), name="one_open_loan_a_run_and_flavor"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.amount_m} to {self.queue_id}"


class LoanSide(models.Model):
    """Who lent how much of a loan: a queue, or a cohort's own pool."""

    loan = models.ForeignKey(Loan, on_delete=models.CASCADE, related_name="sides")
    queue = models.ForeignKey(Queue, null=True, blank=True, on_delete=models.PROTECT, related_name="lent")
    tenant = models.ForeignKey(Tenant, null=True, blank=True, on_delete=models.PROTECT, related_name="lent")
    cohort = models.ForeignKey(Cohort, null=True, blank=True, on_delete=models.PROTECT, related_name="lent")
    amount_m = models.BigIntegerField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return str(self.amount_m)


class Reservation(models.Model):
    """Capacity kept for a queue, tier or job during a window (SCH-18; backfill and kept-for-job by the cycle)."""

    kind = models.CharField(max_length=14)
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.CASCADE, related_name="reservations")
    queue = models.ForeignKey(Queue, null=True, blank=True, on_delete=models.CASCADE)
    tier = models.CharField(max_length=12, blank=True, default="")
    flavor = models.ForeignKey(Flavor, null=True, blank=True, on_delete=models.CASCADE)
    amount_m = models.BigIntegerField(default=0)
    from_at = models.DateTimeField()
    to_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True, blank=True)
    why = models.CharField(max_length=40, blank=True, default="")

    objects = models.Manager.from_queryset(scoped("queue__tenant", "job__tenant"))()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.job_id}"


class ReservationNode(models.Model):
    """A node, or `cards` milli-cards of it, that a reservation keeps; where it is a job's, for `pods` of which `role`.

    `card` is the card's index where the pods have shares of one, below 0 for a card that they will open.
    """

    reservation = models.ForeignKey(Reservation, on_delete=models.CASCADE, related_name="kept")
    node = models.ForeignKey(Node, on_delete=models.CASCADE)
    cards = models.PositiveIntegerField(default=0)
    role = models.CharField(max_length=40, blank=True, default="")
    card = models.IntegerField(default=0)
    pods = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.node_id}: {self.cards}"


class Forecast(models.Model):
    """An ETA as shown, scored at the start: how honest the ranges are."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="forecasts")
    at = models.DateTimeField()
    earliest = models.DateTimeField(null=True)
    likely = models.DateTimeField(null=True)
    latest = models.DateTimeField(null=True)
    why_not = models.CharField(max_length=40, blank=True, default="")
    started_at = models.DateTimeField(null=True)
    held = models.BooleanField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["job", "-id"])]

    def __str__(self) -> str:
        return f"{self.earliest}–{self.latest}"


class EffectivePrice(models.Model):
    """Read model published by billing: what a tenant pays per unit now, for estimates. `version` names the price."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="effective_prices")
    meter = models.CharField(max_length=20)
    flavor = models.ForeignKey(Flavor, null=True, blank=True, on_delete=models.CASCADE)
    price = models.DecimalField(max_digits=18, decimal_places=6)
    currency = models.CharField(max_length=3)
    version = models.CharField(max_length=40, blank=True, default="")
    published_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "meter", "flavor"], nulls_distinct=False, name="effective_price_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.meter} {self.price} {self.currency}"
