"""Jobs as their owners asked for them, and where they stand."""

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduling.states import JOB_MOVES, EndReason, JobState
from tenants.models import Flavor, Project, Queue, Tenant, User
from tenants.scoping import scoped

TIERS = [("production", _("production")), ("development", _("development")), ("batch", _("batch"))]
STATES = [
    ("queued", _("queued")),
    ("starting", _("starting")),
    ("running", _("running")),
    ("stopping", _("stopping")),
    ("suspended", _("suspended")),
    ("succeeded", _("succeeded")),
    ("failed", _("failed")),
    ("cancelled", _("cancelled")),
]
END_REASONS = [(reason.value, reason.value) for reason in EndReason]


class Job(models.Model):
    """One ask. `submitted_at` never changes; `order_at` is the instant its place in the queue follows (SCH-04).

    `shape_key` is a digest of everything that decides where it fits: jobs of one key are planned as one class. `spec` is the body
    as sent, kept for clone and audit and never read by rules.
    """

    class Kind(models.TextChoices):
        TRAINING = "training", _("training")
        SERVICE = "service", _("service")
        INTERACTIVE = "interactive", _("interactive")

    class Topology(models.TextChoices):
        NONE = "none", _("any")
        PREFERRED = "preferred", _("preferred")
        REQUIRED = "required", _("required")

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="jobs")
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="jobs")
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.PROTECT)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="jobs")
    name = models.CharField(max_length=63)
    kind = models.CharField(max_length=12, choices=Kind, default=Kind.TRAINING)
    tier = models.CharField(max_length=12, choices=TIERS)
    priority = models.PositiveSmallIntegerField(default=500)
    state = models.CharField(max_length=10, choices=STATES, default=JobState.QUEUED.value)
    labels = models.JSONField(default=dict, blank=True)
    spec = models.JSONField(default=dict, blank=True)
    shape_key = models.CharField(max_length=64)

    submitted_at = models.DateTimeField()
    order_at = models.DateTimeField()
    eligible_at = models.DateTimeField()
    not_before = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    end_reason = models.CharField(max_length=16, choices=END_REASONS, blank=True, default="")
    cancel_asked_at = models.DateTimeField(null=True, blank=True)
    cancel_asked_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    expected_runtime_s = models.PositiveIntegerField(null=True, blank=True)
    max_runtime_s = models.PositiveIntegerField(null=True, blank=True)
    max_restarts = models.PositiveSmallIntegerField(default=3)
    restarts_used = models.PositiveSmallIntegerField(default=0)
    runs_count = models.PositiveIntegerField(default=0)
    preemptions = models.PositiveIntegerField(default=0)
    node_losses = models.PositiveIntegerField(default=0)
    backoff_until = models.DateTimeField(null=True, blank=True)
    backoff_count = models.PositiveSmallIntegerField(default=0)
    backoff_message = models.CharField(max_length=1000, blank=True, default="")
    planner_faults = models.PositiveSmallIntegerField(default=0)
    refused_estimate = models.DecimalField(max_digits=20, decimal_places=6, null=True, blank=True)

    topology_mode = models.CharField(max_length=10, choices=Topology, default=Topology.NONE)
    topology_level = models.CharField(max_length=63, blank=True, default="")
    elastic_step = models.PositiveIntegerField(null=True, blank=True)
    elastic_cooldown_s = models.PositiveIntegerField(null=True, blank=True)
    checkpoint_path = models.CharField(max_length=500, blank=True, default="")
    checkpoint_interval_s = models.PositiveIntegerField(null=True, blank=True)
    output_claim = models.CharField(max_length=63, blank=True, default="")
    output_path = models.CharField(max_length=500, blank=True, default="")
    objective = models.CharField(max_length=10, default="fastest")
    deadline = models.DateTimeField(null=True, blank=True)
    callback_url = models.URLField(max_length=500, blank=True, default="")
    array_parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="array_members"
    )
    array_index = models.PositiveIntegerField(null=True, blank=True)
    array_size = models.PositiveIntegerField(null=True, blank=True)
    array_limit = models.PositiveIntegerField(null=True, blank=True)
    cloned_from = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="clones")

    cost_amount = models.DecimalField(max_digits=20, decimal_places=6, null=True, blank=True)
    cost_currency = models.CharField(max_length=3, blank=True, default="")
    cost_as_of = models.DateTimeField(null=True, blank=True)
    cost_final = models.BooleanField(default=False)
    source = models.CharField(max_length=64, blank=True, default="")
    source_ref = models.CharField(max_length=200, blank=True, default="")

    objects = models.Manager.from_queryset(scoped("tenant"))()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(priority__lte=1000), name="job_priority_in_range"),
            models.CheckConstraint(condition=Q(state__in=[state.value for state in JobState]), name="job_state_known"),
            models.CheckConstraint(condition=Q(tier__in=["production", "development", "batch"]), name="job_tier_known"),
            models.CheckConstraint(
                condition=Q(state__in=["succeeded", "failed", "cancelled"], ended_at__isnull=False)
                | (~Q(state__in=["succeeded", "failed", "cancelled"]) & Q(ended_at__isnull=True)),
                name="job_ended_at_iff_terminal",
            ),
            models.UniqueConstraint(fields=["source", "source_ref"], condition=~Q(source=""), name="imported_job_once"),
        ]
        indexes = [
            models.Index(
                fields=["id"], condition=Q(state__in=["queued", "starting", "running", "stopping"]), name="job_live"
            ),
            # What billing's sweeps look at: jobs whose cost may still change.
            models.Index(fields=["tenant", "id"], condition=Q(cost_final=False), name="job_cost_open"),
            models.Index(fields=["tenant", "-id"]),
            models.Index(fields=["tenant", "state", "-id"]),
            models.Index(fields=["tenant", "name", "-id"]),
            models.Index(fields=["queue", "-id"]),
            models.Index(fields=["user", "-id"]),
            GinIndex(fields=["labels"], name="job_labels", opclasses=["jsonb_path_ops"]),
        ]
        triggers = [
            pgtrigger.FSM(
                name="job_moves",
                field="state",
                transitions=[(old.value, new.value) for old in JobState for new in sorted(JOB_MOVES[old])],
            ),
            pgtrigger.Protect(name="jobs_are_kept", operation=pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return f"{self.pk} {self.name}"


class Role(models.Model):
    """One role of a job: `replicas` identical pods. Cards in milli-cards a pod, CPU in millicores, memory in MiB."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="roles")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=40)
    replicas = models.PositiveIntegerField()
    minimum = models.PositiveIntegerField()
    in_gang = models.BooleanField(default=True)
    period_s = models.PositiveIntegerField(null=True, blank=True)
    cards_m = models.BigIntegerField(default=0)
    cpu_m = models.BigIntegerField(default=0)
    memory_mib = models.BigIntegerField(default=0)
    vram_mib = models.BigIntegerField(default=0)
    cpu_limit_m = models.BigIntegerField(null=True, blank=True)
    memory_limit_mib = models.BigIntegerField(null=True, blank=True)
    image = models.CharField(max_length=500)
    command = ArrayField(models.TextField(), default=list, blank=True)
    args = ArrayField(models.TextField(), default=list, blank=True)
    env = models.JSONField(default=dict, blank=True)
    env_from = ArrayField(models.CharField(max_length=63), default=list, blank=True)
    image_pull = ArrayField(models.CharField(max_length=63), default=list, blank=True)
    volumes = models.JSONField(default=list, blank=True)
    ports = ArrayField(models.PositiveIntegerField(), default=list, blank=True)
    shm_mib = models.BigIntegerField(null=True, blank=True)
    run_as_user = models.BigIntegerField(null=True, blank=True)
    run_as_group = models.BigIntegerField(null=True, blank=True)
    fs_group = models.BigIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["job_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["job", "name"], name="role_name_once_a_job"),
            models.CheckConstraint(
                condition=Q(replicas__gte=1) & Q(minimum__gte=0) & Q(minimum__lte=models.F("replicas")),
                name="role_minimum_within_replicas",
            ),
            models.CheckConstraint(
                condition=Q(cards_m__gte=0, cpu_m__gte=0, memory_mib__gte=0, vram_mib__gte=0),
                name="role_asks_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RoleFlavor(models.Model):
    """A flavor that a role accepts, in the order it was named."""

    role = models.ForeignKey(Role, on_delete=models.CASCADE, related_name="role_flavors")
    flavor = models.ForeignKey(Flavor, on_delete=models.PROTECT)
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["role_id", "position"]
        constraints = [models.UniqueConstraint(fields=["role", "flavor"], name="role_flavor_once")]

    def __str__(self) -> str:
        return str(self.flavor_id)


class JobDependency(models.Model):
    """`job` waits until `on_job` has ended (`any`) or succeeded (`success`)."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="dependencies")
    on_job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="dependents")
    condition = models.CharField(
        max_length=8, choices=[("success", _("success")), ("any", _("any end"))], default="success"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "on_job"], name="dependency_once"),
            models.CheckConstraint(condition=~Q(job=models.F("on_job")), name="no_job_waits_for_itself"),
        ]

    def __str__(self) -> str:
        return f"{self.job_id} after {self.on_job_id}"


class JobDataset(models.Model):
    """A dataset that the job reads (SCH-19)."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="datasets")
    name = models.CharField(max_length=120)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="dataset_once_a_job")]

    def __str__(self) -> str:
        return self.name
