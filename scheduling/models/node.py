"""Nodes and cards as last observed, and what they were over time."""

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import ArrayField, DateTimeRangeField, RangeOperators
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from tenants.models import Cluster, Flavor, Pool, Tenant
from tenants.scoping import scoped


class Node(models.Model):
    """One machine of a cluster. Amounts are what it can allocate: cards, millicores, MiB.

    `cordoned` starts nothing new, `barred_by` says which taint asks for that where it is not a plain cordon; `draining` sends away
    what may be sent away as well. `went_at` is when it lately ceased to be ready, `flaps` how often that was when `quarantined_until`
    was set.
    """

    class State(models.TextChoices):
        READY = "ready", _("ready")
        NOT_READY = "not-ready", _("not ready")
        LOST = "lost", _("lost")

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="nodes")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="nodes")
    flavor = models.ForeignKey(Flavor, null=True, blank=True, on_delete=models.PROTECT, related_name="nodes")
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64, blank=True, default="")
    gpus = models.PositiveIntegerField(default=0)
    cpu_m = models.BigIntegerField(default=0)
    memory_mib = models.BigIntegerField(default=0)
    max_pods = models.PositiveIntegerField(default=110)
    state = models.CharField(max_length=10, choices=State, default=State.READY)
    cordoned = models.BooleanField(default=False)
    barred_by = models.CharField(max_length=200, blank=True, default="")
    draining = models.BooleanField(default=False)
    quarantined_until = models.DateTimeField(null=True, blank=True)
    flaps = models.PositiveSmallIntegerField(default=0)
    went_at = ArrayField(models.DateTimeField(), default=list, blank=True)
    measured_ppm = models.BigIntegerField(null=True, blank=True)
    labels = models.JSONField(default=dict, blank=True)
    ready_since = models.DateTimeField(null=True, blank=True)
    last_sign_at = models.DateTimeField(null=True, blank=True)
    lost_at = models.DateTimeField(null=True, blank=True)

    objects = models.Manager.from_queryset(scoped("pool__tenant", shared=True))()

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="node_once_a_cluster"),
            models.CheckConstraint(condition=Q(cpu_m__gte=0, memory_mib__gte=0), name="node_amounts_not_negative"),
            models.CheckConstraint(condition=Q(state__in=["ready", "not-ready", "lost"]), name="node_state_known"),
        ]

    def __str__(self) -> str:
        return self.name


class NodeDomain(models.Model):
    """Where a node sits at one topology level (zone, block, rack ...), SCH-11. `rank` orders levels, widest first."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="domains")
    rank = models.PositiveSmallIntegerField()
    level = models.CharField(max_length=63)
    domain = models.CharField(max_length=120)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["node", "level"], name="node_domain_once_a_level")]

    def __str__(self) -> str:
        return f"{self.level}={self.domain}"


class Card(models.Model):
    """One card of a node by index; its mode is what it is set to now."""

    class Health(models.TextChoices):
        OK = "ok", _("in service")
        FAILED = "failed", _("out of service")

    class Evidence(models.TextChoices):
        """How a card came to be out of service. `counted`: the device plugin tells of fewer cards, and not which."""

        NAMED = "named", _("named by its index")
        COUNTED = "counted", _("fewer cards counted, not told which")

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="cards")
    index = models.PositiveSmallIntegerField()
    flavor = models.ForeignKey(Flavor, on_delete=models.PROTECT, related_name="cards")
    mode = models.CharField(max_length=8, choices=Flavor.Mode, default=Flavor.Mode.WHOLE)
    health = models.CharField(max_length=8, choices=Health, default=Health.OK)
    failed_by = models.CharField(max_length=8, choices=Evidence, blank=True, default="")
    failed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["node_id", "index"]
        constraints = [models.UniqueConstraint(fields=["node", "index"], name="card_once_a_node")]

    def __str__(self) -> str:
        return f"{self.node_id}/{self.index}"


class NodeInterval(models.Model):
    """What a node was, for which pool and tenant, during a stretch of time: capacity history (BIL-01, B11)."""

    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="intervals")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT)
    tenant = models.ForeignKey(Tenant, null=True, blank=True, on_delete=models.PROTECT)
    flavor = models.ForeignKey(Flavor, null=True, blank=True, on_delete=models.PROTECT)
    cards = models.PositiveIntegerField()
    cards_out = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=10)
    during = DateTimeRangeField()

    class Meta:
        constraints = [
            ExclusionConstraint(
                name="node_is_one_thing_at_a_time",
                expressions=[("node", RangeOperators.EQUAL), ("during", RangeOperators.OVERLAPS)],
            )
        ]

    def __str__(self) -> str:
        return f"{self.node_id} {self.state} {self.during}"
