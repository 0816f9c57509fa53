"""The ledger: what was held, by whom and when, written once and never changed (BIL-01, ADR 0011)."""

import pgtrigger
from django.db import models
from django.db.models import F, Func, Q
from django.utils.translation import gettext_lazy as _

from billing.models.period import BillingPeriod
from tenants.models import Flavor, Project, Queue, Tenant, User
from tenants.scoping import scoped

OPEN_PERIOD = """
    IF EXISTS (SELECT 1 FROM added JOIN billing_billingperiod period ON period.id = added.period_id
                WHERE period.state = 'closed') THEN
        RAISE EXCEPTION 'nothing can be posted to a closed period' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
"""


class ElapsedSeconds(Func):
    """Seconds between two instants."""

    template = "EXTRACT(EPOCH FROM (%(expressions)s))"
    arg_joiner = " - "
    output_field = models.DecimalField()


class LedgerEntry(models.Model):
    """A metered fact: some cards, cores and memory held during [starts_at, ends_at), which lies inside one local day.

    Quantities are rates (1/7000 card, millicores, MiB); times `seconds` they are what a price is applied to. They are
    negative only in an entry that takes an earlier one back (`refers_to`). Prices are not here: statements freeze them.
    `period` is the period whose bill carries the fact; a fact of a closed period is carried by a later one (B19). What a
    close posts of a lease that goes on has no `segment` yet: the loop writes segments when a hold ends.
    """

    class HeldAs(models.TextChoices):
        BILLABLE = "billable", _("billable")
        GRACE = "grace", _("grace after an eviction notice")
        FAULT = "fault", _("platform fault")
        AFTER_LAST_SIGN = "after-last-sign", _("after the node's last sign of life")
        SET_ASIDE = "set-aside", _("on the tenant's own nodes, which are charged whole")

    key = models.CharField(max_length=120, unique=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, db_index=False, related_name="+")
    period = models.ForeignKey(BillingPeriod, on_delete=models.PROTECT, db_index=False, related_name="entries")
    held_as = models.CharField(max_length=16, choices=HeldAs)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    seconds = models.BigIntegerField()
    day = models.DateField()
    cards_u7000 = models.BigIntegerField(default=0)
    cpu_m = models.BigIntegerField(default=0)
    memory_mib = models.BigIntegerField(default=0)
    borrowed = models.BooleanField(default=False)
    flavor = models.ForeignKey(Flavor, null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    job = models.ForeignKey("scheduling.Job", null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    run = models.ForeignKey("scheduling.Run", null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    lease = models.ForeignKey("scheduling.Lease", null=True, on_delete=models.PROTECT, related_name="+")
    segment = models.ForeignKey("scheduling.LeaseSegment", null=True, on_delete=models.PROTECT, related_name="+")
    node_interval = models.ForeignKey("scheduling.NodeInterval", null=True, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(User, null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    queue = models.ForeignKey(Queue, null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    project = models.ForeignKey(Project, null=True, on_delete=models.PROTECT, db_index=False, related_name="+")
    tier = models.CharField(max_length=12, blank=True, default="")
    kind = models.CharField(max_length=12, blank=True, default="")
    labels = models.JSONField(default=dict)
    refers_to = models.OneToOneField("self", null=True, on_delete=models.PROTECT, related_name="taken_back_by")
    recorded_at = models.DateTimeField()

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "ledger entries"
        indexes = [
            models.Index(fields=["period", "id"], name="ledger_by_period"),
            models.Index(fields=["job", "id"], name="ledger_by_job"),
            models.Index(fields=["tenant", "day"], name="ledger_by_tenant_and_day"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(seconds__gt=0), name="ledger_entry_is_never_empty"),
            models.CheckConstraint(
                condition=Q(seconds=ElapsedSeconds(F("ends_at"), F("starts_at"))), name="ledger_seconds_are_elapsed"
            ),
            models.CheckConstraint(
                condition=Q(refers_to__isnull=True, cards_u7000__gte=0, cpu_m__gte=0, memory_mib__gte=0)
                | Q(refers_to__isnull=False, cards_u7000__lte=0, cpu_m__lte=0, memory_mib__lte=0),
                name="ledger_only_takes_back_what_it_names",
            ),
            models.CheckConstraint(
                condition=Q(lease__isnull=False, node_interval__isnull=True, job__isnull=False)
                | Q(lease__isnull=True, segment__isnull=True, node_interval__isnull=False, job__isnull=True),
                name="ledger_entry_has_one_source",
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="ledger_is_append_only", operation=pgtrigger.Update | pgtrigger.Delete),
            pgtrigger.Trigger(
                name="ledger_posts_to_open_periods",
                level=pgtrigger.Statement,
                when=pgtrigger.After,
                operation=pgtrigger.Insert,
                referencing=pgtrigger.Referencing(new="added"),
                func=OPEN_PERIOD,
            ),
        ]

    def __str__(self) -> str:
        return self.key
