"""Quota lines of the tree, what tenants ask for and lend by agreement, and the gate that a budget puts before a start."""

import pghistory
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeBoundary, RangeOperators
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Coalesce
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from berth.common.units import from_milli, mib_to_gib
from tenants.models.pool import Flavor
from tenants.models.queue import Queue
from tenants.models.tenant import Cohort, Project, Tenant
from tenants.models.user import User
from tenants.scoping import scoped


class TsTzRange(Func):
    """tstzrange(from, to, '[)')."""

    function = "TSTZRANGE"
    output_field = DateTimeRangeField()


class Resource(models.TextChoices):
    """gpu in milli-cards by flavor, cpu in millicores, memory and vram in MiB, storage in GiB, iops as a number."""

    GPU = "gpu", _("cards")
    CPU = "cpu", _("CPU cores")
    MEMORY = "memory", _("memory")
    VRAM = "vram", _("VRAM")
    STORAGE = "storage", _("storage")
    IOPS = "iops", "IOPS"


def _told(resource: str, amount: int) -> str:
    """An amount as people write it: 128 cards, 512 memory GiB."""
    if resource == Resource.GPU:
        return gettext("%(cards)s cards") % {"cards": from_milli(amount)}
    if resource == Resource.CPU:
        return f"{from_milli(amount)} {Resource.CPU.label}"
    if resource in (Resource.MEMORY, Resource.VRAM):
        return f"{mib_to_gib(amount)} GiB {Resource(resource).label}"
    return f"{amount} {Resource(resource).label}"


@pghistory.track()
class Quota(models.Model):
    """One line: exactly one node of the tree × resource (× flavor for cards), for a stretch of time. A null limit is no limit."""

    class Mode(models.TextChoices):
        STATIC = "static", _("static")
        DYNAMIC = "dynamic", _("dynamic")
        OVERCOMMIT = "overcommit", _("over-commit")

    cohort = models.ForeignKey(Cohort, null=True, blank=True, on_delete=models.CASCADE, related_name="quotas")
    tenant = models.ForeignKey(Tenant, null=True, blank=True, on_delete=models.CASCADE, related_name="quotas")
    queue = models.ForeignKey(Queue, null=True, blank=True, on_delete=models.CASCADE, related_name="quotas")
    resource = models.CharField(max_length=10, choices=Resource)
    flavor = models.ForeignKey(Flavor, null=True, blank=True, on_delete=models.PROTECT, related_name="quotas")
    nominal = models.BigIntegerField(default=0)
    borrowing_limit = models.BigIntegerField(null=True, blank=True)
    lending_limit = models.BigIntegerField(null=True, blank=True)
    mode = models.CharField(max_length=10, choices=Mode, default=Mode.STATIC)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(cohort__isnull=False, tenant__isnull=True, queue__isnull=True)
                | Q(cohort__isnull=True, tenant__isnull=False, queue__isnull=True)
                | Q(cohort__isnull=True, tenant__isnull=True, queue__isnull=False),
                name="quota_of_exactly_one_node",
            ),
            models.CheckConstraint(
                condition=Q(resource="gpu", flavor__isnull=False) | (~Q(resource="gpu") & Q(flavor__isnull=True)),
                name="quota_flavor_iff_cards",
            ),
            models.CheckConstraint(
                condition=Q(nominal__gte=0)
                & (Q(borrowing_limit__isnull=True) | Q(borrowing_limit__gte=0))
                & (Q(lending_limit__isnull=True) | Q(lending_limit__gte=0)),
                name="quota_amounts_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from")), name="quota_ends_after_start"
            ),
            ExclusionConstraint(
                name="quota_one_line_at_a_time",
                expressions=[
                    (Coalesce("cohort", 0), RangeOperators.EQUAL),
                    (Coalesce("tenant", 0), RangeOperators.EQUAL),
                    (Coalesce("queue", 0), RangeOperators.EQUAL),
                    ("resource", RangeOperators.EQUAL),
                    (Coalesce("flavor", 0), RangeOperators.EQUAL),
                    (TsTzRange("valid_from", "valid_to", RangeBoundary()), RangeOperators.OVERLAPS),
                ],
            ),
        ]

    def __str__(self) -> str:
        return _told(self.resource, self.nominal)


@pghistory.track()
class QuotaTransfer(models.Model):
    """A delta for a period between two queues' nominal; nobody's sum changes and it reverts by itself (SCH-25)."""

    giver = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="transfers_out")
    receiver = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="transfers_in")
    resource = models.CharField(max_length=10, choices=Resource)
    flavor = models.ForeignKey(Flavor, null=True, blank=True, on_delete=models.PROTECT)
    amount = models.BigIntegerField()
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField()
    agreed_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.CharField(max_length=500, blank=True, default="")

    objects = models.Manager.from_queryset(scoped("giver__tenant", "receiver__tenant"))()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="transfer_amount_positive"),
            models.CheckConstraint(condition=Q(valid_to__gt=F("valid_from")), name="transfer_ends_after_start"),
            models.CheckConstraint(condition=~Q(giver=F("receiver")), name="transfer_between_two_queues"),
        ]

    def __str__(self) -> str:
        return _told(self.resource, self.amount)


@pghistory.track()
class QuotaRequest(models.Model):
    """A tenant asks for more; a platform admin decides."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        APPROVED = "approved", _("approved")
        REJECTED = "rejected", _("rejected")
        WITHDRAWN = "withdrawn", _("withdrawn")

    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="quota_requests")
    resource = models.CharField(max_length=10, choices=Resource)
    flavor = models.ForeignKey(Flavor, null=True, blank=True, on_delete=models.PROTECT)
    amount = models.BigIntegerField()
    until = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=1000)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    decided_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(null=True)
    answer = models.CharField(max_length=1000, blank=True, default="")

    objects = models.Manager.from_queryset(scoped("queue__tenant"))()

    class Meta:
        ordering = ["-id"]
        constraints = [models.CheckConstraint(condition=Q(amount__gt=0), name="quota_request_amount_positive")]

    def __str__(self) -> str:
        return _told(self.resource, self.amount)


class BudgetGate(models.Model):
    """What a start must pass: limit, spent and reserved money of a tenant, queue or project. Billing settles, `apply` reserves."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="budget_gates")
    queue = models.ForeignKey(Queue, null=True, blank=True, on_delete=models.CASCADE)
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.CASCADE)
    currency = models.CharField(max_length=3)
    limit_amount = models.DecimalField(max_digits=20, decimal_places=6, null=True, blank=True)
    spent = models.DecimalField(max_digits=20, decimal_places=6, default=0)
    reserved = models.DecimalField(max_digits=20, decimal_places=6, default=0)
    hard_stop = models.BooleanField(default=False)

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "queue", "project"], nulls_distinct=False, name="budget_gate_once"
            ),
            models.CheckConstraint(condition=Q(reserved__gte=0), name="budget_reserved_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.spent}/{self.limit_amount} {self.currency}"
