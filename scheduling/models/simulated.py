"""Tables of the simulated cluster: the world outside, kept apart. No key leads from here to the platform's tables or back.

Written only by `control/simulated_cluster.py`, on a connection of its own, as a real cluster would be.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models


class SimulatedCluster(models.Model):
    """One virtual cluster: its resource version, and the oldest one that a watch may still go on from."""

    name = models.CharField(max_length=63, primary_key=True)
    resource_version = models.BigIntegerField(default=0)
    oldest_version = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return self.name


class SimulatedNode(models.Model):
    """A virtual machine."""

    cluster = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    labels = models.JSONField(default=dict)
    resource_name = models.CharField(max_length=80, default="nvidia.com/gpu")
    card_count = models.PositiveIntegerField(default=0)
    cpu_millicores = models.BigIntegerField()
    memory_mib = models.BigIntegerField()
    vram_mib = models.BigIntegerField(default=0)
    max_pods = models.PositiveIntegerField(default=110)
    unhealthy_cards = ArrayField(models.PositiveIntegerField(), default=list)
    cordoned = models.BooleanField(default=False)
    ready = models.BooleanField(default=True)
    ready_since = models.DateTimeField()
    silent_since = models.DateTimeField(null=True)
    silent_since_wall = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="simulated_node_once")]

    def __str__(self) -> str:
        return self.name


class SimulatedPod(models.Model):
    """A virtual pod; `removed` rows are kept for a while so that watches can tell of the deletion."""

    cluster = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64, unique=True)
    run_name = models.CharField(max_length=63)
    labels = models.JSONField(default=dict)
    annotations = models.JSONField(default=dict)
    node = models.CharField(max_length=253)
    card_count = models.PositiveIntegerField()
    cpu_millicores = models.BigIntegerField()
    memory_mib = models.BigIntegerField()
    grace_s = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    start_due = models.DateTimeField(null=True)
    duration = models.DurationField(null=True)
    outcome = models.CharField(max_length=20)
    utilisation_ppm = models.PositiveIntegerField(default=0)
    stop_delay = models.DurationField(null=True)
    phase = models.CharField(max_length=10)
    start_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    exit_code = models.IntegerField(null=True)
    reason = models.CharField(max_length=120, default="")
    message = models.TextField(default="")
    cards = ArrayField(models.PositiveIntegerField(), default=list)
    deletion_asked = models.DateTimeField(null=True)
    deletion_grace = models.DurationField(null=True)
    stop_at = models.DateTimeField(null=True)
    resource_version = models.BigIntegerField()
    removed = models.BooleanField(default=False)
    next_change_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "namespace", "name"], condition=models.Q(removed=False), name="simulated_pod_once"
            )
        ]
        indexes = [
            models.Index(fields=["cluster", "next_change_at"], name="simulated_pod_due"),
            models.Index(fields=["cluster", "resource_version"], name="simulated_pod_version"),
            models.Index(fields=["cluster", "node"], condition=models.Q(removed=False), name="simulated_pod_node"),
        ]

    def __str__(self) -> str:
        return self.name


class SimulatedObject(models.Model):
    """Any other object of the virtual API server: the Service that owns a run, or what `apply_objects` put there."""

    cluster = models.CharField(max_length=63)
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True, default="")
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    api_version = models.CharField(max_length=63, default="v1")
    manifest = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "kind", "namespace", "name"], name="simulated_object_once")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class SimulatedFault(models.Model):
    """One rule of the fault plan that tests and chaos runs set; `times` null strikes always."""

    cluster = models.CharField(max_length=63)
    operation = models.CharField(max_length=30)
    kind = models.CharField(max_length=20)
    times = models.PositiveIntegerField(null=True, default=1)
    match = models.CharField(max_length=253, blank=True, default="")
    after = models.PositiveIntegerField(null=True)
    seconds = models.FloatField(default=0)
    code = models.CharField(max_length=30, default="admission")
    message = models.CharField(max_length=500, blank=True, default="")
    retry_after_s = models.PositiveIntegerField(null=True)

    def __str__(self) -> str:
        return f"{self.operation}: {self.kind}"
