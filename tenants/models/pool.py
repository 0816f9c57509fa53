"""Clusters, pools and flavors: what kinds of card exist and under which sharing rule."""

import pghistory
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeOperators
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from berth.common.turns import LEAST_QUANTUM_S, MOST_QUANTUM_S, QUANTUM_S
from tenants.scoping import scoped

ONE_PPM = 1_000_000
DEFAULT_RESOURCE = "nvidia.com/gpu"
MIG_RESOURCE = "nvidia.com/mig-"


class Cluster(models.Model):
    """A place pods run. The credential is a reference (a path or secret name), never the credential."""

    class Kind(models.TextChoices):
        SIMULATED = "simulated", _("simulated")
        KUBERNETES = "kubernetes", "Kubernetes"

    name = models.CharField(max_length=63, unique=True)
    kind = models.CharField(max_length=12, choices=Kind, default=Kind.SIMULATED)
    credential_ref = models.CharField(
        max_length=200,
        blank=True,
        default="",
        validators=[
            RegexValidator(
                r"^/[\w.@/-]*\Z", _("The path of a kubeconfig file where Berth runs, never what stands in it.")
            )
        ],
    )
    region = models.CharField(max_length=63, blank=True, default="")
    reachable = models.BooleanField(default=True)
    last_listed_at = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=500, blank=True, default="")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


@pghistory.track()
class Pool(models.Model):
    """Nodes of one cluster under one sharing rule (SCH-14, SCH-15). Factor and watermarks in ppm; turns of its jobs (SCH-27)."""

    class Sharing(models.TextChoices):
        SHARED = "shared", _("shared")
        PARTITION = "partition", _("one tenant's partition")
        DEDICATED = "dedicated", _("one tenant's cluster")

    name = models.CharField(max_length=63, unique=True)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="pools")
    sharing = models.CharField(max_length=12, choices=Sharing, default=Sharing.SHARED)
    tenant = models.ForeignKey(
        "tenants.Tenant", null=True, blank=True, on_delete=models.PROTECT, related_name="own_pools"
    )
    factor_ppm = models.BigIntegerField(
        default=ONE_PPM, validators=[MinValueValidator(ONE_PPM), MaxValueValidator(2 * ONE_PPM)]
    )
    high_ppm = models.BigIntegerField(default=850_000)
    low_ppm = models.BigIntegerField(default=750_000)
    draining = models.BooleanField(default=False)
    cpu_per_card_m = models.BigIntegerField(null=True, blank=True)
    memory_per_card_mib = models.BigIntegerField(null=True, blank=True)
    cpu_headroom_m = models.BigIntegerField(default=0)
    priority_share_ppm = models.BigIntegerField(default=0)
    limit_ratio_ppm = models.BigIntegerField(default=2 * ONE_PPM)
    time_sharing = models.BooleanField(
        default=False,
        help_text=_(
            "Waiting jobs take the turn of running ones of their tier that had more card time, where both write checkpoints; "
            "production never."
        ),
    )
    quantum_s = models.PositiveIntegerField(
        default=QUANTUM_S,
        validators=[MinValueValidator(LEAST_QUANTUM_S), MaxValueValidator(MOST_QUANTUM_S)],
        help_text=_("So long a job keeps its turn; from 60 to 86,400 seconds."),
    )

    objects = models.Manager.from_queryset(scoped("tenant", shared=True))()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(factor_ppm__gte=ONE_PPM, factor_ppm__lte=2 * ONE_PPM), name="pool_factor_in_range"
            ),
            models.CheckConstraint(
                condition=Q(low_ppm__gt=0) & Q(low_ppm__lt=F("high_ppm")) & Q(high_ppm__lte=ONE_PPM),
                name="pool_watermarks_in_order",
            ),
            models.CheckConstraint(
                condition=Q(factor_ppm=ONE_PPM) | Q(sharing="shared"), name="over_commit_only_in_shared_pools"
            ),
            models.CheckConstraint(
                condition=Q(sharing="shared", tenant__isnull=True) | (~Q(sharing="shared") & Q(tenant__isnull=False)),
                name="pool_has_a_tenant_unless_shared",
            ),
            models.CheckConstraint(
                condition=Q(quantum_s__gte=LEAST_QUANTUM_S, quantum_s__lte=MOST_QUANTUM_S), name="pool_quantum_in_range"
            ),
        ]

    def __str__(self) -> str:
        return self.name


@pghistory.track()
class Flavor(models.Model):
    """A kind of card, or CPU only, of exactly one pool. Its name is unique: `a100-80g`, `a100-80g@ext-d`."""

    class Mode(models.TextChoices):
        WHOLE = "whole", _("whole card")
        SHARED = "shared", _("shared card")
        MIG = "mig", "MIG"
        ANY = "any", _("any mode")
        NONE = "none", _("CPU only")

    name = models.CharField(max_length=63, unique=True)
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="flavors")
    card_model = models.CharField(max_length=63, blank=True, default="")
    mode = models.CharField(max_length=8, choices=Mode, default=Mode.WHOLE)
    mig_profile = models.CharField(max_length=20, blank=True, default="")
    resource_name = models.CharField(max_length=80, blank=True, default=DEFAULT_RESOURCE)
    vram_mib = models.BigIntegerField(default=0)
    speed_ppm = models.BigIntegerField(default=ONE_PPM)
    weight_ppm = models.BigIntegerField(default=ONE_PPM)

    objects = models.Manager.from_queryset(scoped("pool__tenant", shared=True))()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(speed_ppm__gt=0, weight_ppm__gte=0, vram_mib__gte=0), name="flavor_amounts_in_range"
            ),
            models.CheckConstraint(
                condition=(Q(mode="mig") & ~Q(mig_profile="")) | (~Q(mode="mig") & Q(mig_profile="")),
                name="flavor_profile_iff_mig",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def short_name(self) -> str:
        """The name without its pool suffix, as people of that pool write it."""
        return self.name.partition("@")[0]

    @property
    def resource(self) -> str:
        """What pods ask for its cards by, as device plugins name it: `nvidia.com/mig-3g.40gb` where cards are cut and nothing else is said."""
        if self.mode == self.Mode.MIG and self.resource_name in ("", DEFAULT_RESOURCE):
            return MIG_RESOURCE + self.mig_profile.replace("+", ".")
        return self.resource_name


class PoolCapacity(models.Model):
    """What a pool physically has, as scheduling last recorded it (milli-cards by flavor, millicores, MiB)."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="capacities")
    resource = models.CharField(max_length=10)
    flavor = models.ForeignKey(Flavor, null=True, blank=True, on_delete=models.CASCADE)
    amount = models.BigIntegerField()
    recorded_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "resource", "flavor"], nulls_distinct=False, name="pool_capacity_once"
            ),
            models.CheckConstraint(condition=Q(amount__gte=0), name="pool_capacity_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.resource}={self.amount}"


class MaintenanceWindow(models.Model):
    """A stretch of time in which nothing new starts in a pool."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="maintenance_windows")
    during = DateTimeRangeField()
    reason = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        constraints = [
            ExclusionConstraint(
                name="maintenance_windows_apart",
                expressions=[("pool", RangeOperators.EQUAL), ("during", RangeOperators.OVERLAPS)],
            )
        ]

    def __str__(self) -> str:
        return str(self.during)
