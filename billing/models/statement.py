"""Statements and their lines: drafts that grow, and issued ones that never change (BIL-06, BIL-07)."""

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from billing.models.adjustment import Adjustment
from billing.models.ledger import LedgerEntry
from billing.models.period import BillingPeriod
from billing.models.price import MeterChoices, Rate
from tenants.models import Flavor, Project, Queue, Tenant, User
from tenants.scoping import scoped

_BEFORE = "SELECT statement_id FROM before"
_ADDED = "SELECT statement_id FROM added"
FINAL = """
    IF EXISTS (SELECT 1 FROM ({rows}) line JOIN billing_statement statement ON statement.id = line.statement_id
                WHERE statement.state = 'issued' OR statement.superseded_at IS NOT NULL) THEN
        RAISE EXCEPTION 'the lines of an issued or superseded statement cannot change' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
"""


class Statement(models.Model):
    """What a tenant owes for a period. A draft grows in place; when something is taken away from it, a new version
    supersedes it and it stays readable (B49). Names are copied: an issued statement reads the same after a rename.
    `entries_to` and `adjustments_to` are the last rows it knows; `unpriced` names what a draft had to leave out.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        ISSUED = "issued", _("issued")

    number = models.CharField(max_length=80, unique=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="statements")
    period = models.ForeignKey(BillingPeriod, on_delete=models.PROTECT, related_name="statements")
    version = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=6, choices=State, default=State.DRAFT)
    currency = models.CharField(max_length=3)
    total = models.DecimalField(max_digits=20, decimal_places=6, default=0)
    tenant_slug = models.CharField(max_length=40)
    tenant_name = models.CharField(max_length=120)
    cost_centre = models.CharField(max_length=64, blank=True, default="")
    billed_to = models.DateTimeField()
    created_at = models.DateTimeField()
    refreshed_at = models.DateTimeField()
    entries_to = models.BigIntegerField(default=0)
    adjustments_to = models.BigIntegerField(default=0)
    superseded_at = models.DateTimeField(null=True)
    issued_at = models.DateTimeField(null=True)
    unpriced = models.CharField(max_length=200, blank=True, default="")

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["period", "version"], name="statement_version_once"),
            models.UniqueConstraint(
                fields=["period"], condition=Q(superseded_at__isnull=True), name="statement_one_current_a_period"
            ),
            models.CheckConstraint(
                condition=Q(state="draft", issued_at__isnull=True)
                | Q(state="issued", issued_at__isnull=False, superseded_at__isnull=True, unpriced=""),
                name="statement_issued_is_whole",
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="statement_issued_is_final",
                operation=pgtrigger.Update | pgtrigger.Delete,
                condition=pgtrigger.Q(old__state="issued"),
            ),
            pgtrigger.Protect(
                name="statement_superseded_is_final",
                operation=pgtrigger.Update | pgtrigger.Delete,
                condition=pgtrigger.Q(old__superseded_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.number


class StatementLine(models.Model):
    """One quantity at one price: what a job held of one thing in one way, or an adjustment.

    `quantity` is metered (1/7000 card, millicore or MiB, times seconds); `posted` is the part of it that is in the ledger,
    the rest goes on. `rate` is the price version. An excluded line
    has amount 0, a reason, and in `worth` what it would have cost. A line of an earlier, closed period says so in
    `charged_period` and is an adjustment.
    """

    class Kind(models.TextChoices):
        USAGE = "usage", _("usage")
        EXCLUDED = "excluded", _("not charged")
        ADJUSTMENT = "adjustment", _("adjustment")
        CREDIT = "credit", _("credit")

    statement = models.ForeignKey(Statement, on_delete=models.CASCADE, db_index=False, related_name="lines")
    kind = models.CharField(max_length=10, choices=Kind)
    meter = models.CharField(max_length=20, choices=MeterChoices, blank=True, default="")
    flavor = models.ForeignKey(Flavor, null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    flavor_name = models.CharField(max_length=63, blank=True, default="")
    borrowed = models.BooleanField(default=False)
    held_as = models.CharField(max_length=16, choices=LedgerEntry.HeldAs, blank=True, default="")
    quantity = models.DecimalField(max_digits=30, decimal_places=0, default=0)
    posted = models.DecimalField(max_digits=30, decimal_places=0, default=0)
    rate = models.ForeignKey(Rate, null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    unit_price = models.DecimalField(max_digits=18, decimal_places=6, null=True)
    amount = models.DecimalField(max_digits=20, decimal_places=6)
    worth = models.DecimalField(max_digits=20, decimal_places=6, null=True)
    job = models.ForeignKey("scheduling.Job", null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    job_name = models.CharField(max_length=63, blank=True, default="")
    user = models.ForeignKey(User, null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    queue = models.ForeignKey(Queue, null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    queue_name = models.CharField(max_length=40, blank=True, default="")
    project = models.ForeignKey(Project, null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    project_name = models.CharField(max_length=63, blank=True, default="")
    adjustment = models.ForeignKey(Adjustment, null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    charged_period = models.ForeignKey(
        BillingPeriod, null=True, on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    charged_from = models.DateTimeField(null=True)
    charged_to = models.DateTimeField(null=True)
    reason = models.CharField(max_length=1000, blank=True, default="")

    objects = models.Manager.from_queryset(scoped("statement__tenant"))()

    class Meta:
        ordering = ["statement_id", "id"]
        indexes = [
            models.Index(fields=["statement", "id"], name="line_by_statement"),
            models.Index(fields=["job"], name="line_by_job"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=~Q(kind="excluded") | (Q(amount=0) & ~Q(reason="")), name="line_excluded_costs_nothing"
            ),
            models.CheckConstraint(
                condition=~Q(kind="usage") | Q(rate__isnull=False), name="line_of_usage_has_a_price"
            ),
            models.CheckConstraint(
                condition=Q(charged_to__isnull=True) | Q(charged_to__gt=F("charged_from")),
                name="line_charge_has_length",
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name=f"line_final_{name}",
                level=pgtrigger.Statement,
                when=pgtrigger.After,
                operation=operation,
                referencing=referencing,
                func=FINAL.format(rows=rows),
            )
            for name, operation, referencing, rows in (
                ("insert", pgtrigger.Insert, pgtrigger.Referencing(new="added"), _ADDED),
                (
                    "update",
                    pgtrigger.Update,
                    pgtrigger.Referencing(old="before", new="added"),
                    f"{_BEFORE} UNION ALL {_ADDED}",
                ),
                ("delete", pgtrigger.Delete, pgtrigger.Referencing(old="before"), _BEFORE),
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount}"


class StatementCounter(models.Model):
    """The last number given to an issued statement: taken under a row lock, so that numbers have no gap (B46)."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    last = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="statement_counter_is_one_row")]

    def __str__(self) -> str:
        return str(self.last)
