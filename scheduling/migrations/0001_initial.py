import django.contrib.postgres.constraints
import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
import django.contrib.postgres.indexes
import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models

import berth.common.together


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("tenants", "0001_initial"),
        ("tenants", "__first__"),
    ]

    operations = [
        berth.common.together.Together(
            operations=[
                migrations.CreateModel(
                    name="Observation",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("at", models.DateTimeField()),
                        ("cluster_id", models.BigIntegerField()),
                        ("kind", models.CharField(max_length=10)),
                        ("name", models.CharField(max_length=320)),
                        ("uid", models.CharField(default="", max_length=64)),
                        ("document", models.JSONField(default=dict)),
                        ("handled_at", models.DateTimeField(null=True)),
                    ],
                    options={
                        "db_table": "scheduling_observation",
                        "ordering": ["at", "id"],
                        "managed": False,
                    },
                ),
                migrations.CreateModel(
                    name="Transition",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("at", models.DateTimeField()),
                        ("job_id", models.BigIntegerField()),
                        ("run_id", models.BigIntegerField(null=True)),
                        ("subject", models.CharField(max_length=4)),
                        ("old", models.CharField(max_length=10)),
                        ("new", models.CharField(max_length=10)),
                        ("reason", models.CharField(max_length=40)),
                        ("message", models.CharField(default="", max_length=1000)),
                        ("actor", models.CharField(default="", max_length=150)),
                        ("cycle_id", models.BigIntegerField(null=True)),
                        ("epoch", models.BigIntegerField(null=True)),
                    ],
                    options={
                        "db_table": "scheduling_transition",
                        "ordering": ["at", "id"],
                        "managed": False,
                    },
                ),
                migrations.CreateModel(
                    name="UtilisationSample",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("at", models.DateTimeField()),
                        ("card_id", models.BigIntegerField()),
                        ("run_id", models.BigIntegerField(null=True)),
                        ("rank", models.PositiveIntegerField(null=True)),
                        ("busy_ppm", models.PositiveIntegerField()),
                        ("vram_mib", models.BigIntegerField(null=True)),
                    ],
                    options={
                        "db_table": "scheduling_utilisationsample",
                        "ordering": ["at", "id"],
                        "managed": False,
                    },
                ),
                migrations.CreateModel(
                    name="Cycle",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("epoch", models.BigIntegerField()),
                        ("at", models.DateTimeField()),
                        ("wall_at", models.DateTimeField()),
                        ("load_ms", models.PositiveIntegerField(default=0)),
                        ("plan_ms", models.PositiveIntegerField(default=0)),
                        ("apply_ms", models.PositiveIntegerField(default=0)),
                        ("duration_ms", models.PositiveIntegerField(default=0)),
                        ("admitted", models.PositiveIntegerField(default=0)),
                        ("preempted", models.PositiveIntegerField(default=0)),
                        ("waiting", models.PositiveIntegerField(default=0)),
                        ("dropped", models.PositiveIntegerField(default=0)),
                        ("by_reason", models.JSONField(default=dict)),
                        ("failed", models.BooleanField(default=False)),
                        ("error", models.CharField(blank=True, default="", max_length=2000)),
                        ("snapshot", models.BinaryField(null=True)),
                    ],
                    options={
                        "ordering": ["-id"],
                    },
                ),
                migrations.CreateModel(
                    name="CycleOrder",
                    fields=[
                        ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                        ("cycle_id", models.BigIntegerField()),
                        (
                            "job_ids",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.BigIntegerField(), default=list, size=None
                            ),
                        ),
                        ("changed_at", models.DateTimeField()),
                    ],
                    options={
                        "constraints": [
                            models.CheckConstraint(condition=models.Q(("id", 1)), name="cycle_order_is_one_row")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="EffectivePrice",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("meter", models.CharField(max_length=20)),
                        ("price", models.DecimalField(decimal_places=6, max_digits=18)),
                        ("currency", models.CharField(max_length=3)),
                        ("version", models.CharField(blank=True, default="", max_length=40)),
                        ("published_at", models.DateTimeField()),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to="tenants.flavor"
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="effective_prices",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("tenant", "meter", "flavor"), name="effective_price_once", nulls_distinct=False
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Job",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=63)),
                        (
                            "kind",
                            models.CharField(
                                choices=[
                                    ("training", "training"),
                                    ("service", "service"),
                                    ("interactive", "interactive"),
                                ],
                                default="training",
                                max_length=12,
                            ),
                        ),
                        (
                            "tier",
                            models.CharField(
                                choices=[
                                    ("production", "production"),
                                    ("development", "development"),
                                    ("batch", "batch"),
                                ],
                                max_length=12,
                            ),
                        ),
                        ("priority", models.PositiveSmallIntegerField(default=500)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("queued", "queued"),
                                    ("starting", "starting"),
                                    ("running", "running"),
                                    ("stopping", "stopping"),
                                    ("suspended", "suspended"),
                                    ("succeeded", "succeeded"),
                                    ("failed", "failed"),
                                    ("cancelled", "cancelled"),
                                ],
                                default="queued",
                                max_length=10,
                            ),
                        ),
                        ("labels", models.JSONField(blank=True, default=dict)),
                        ("spec", models.JSONField(blank=True, default=dict)),
                        ("shape_key", models.CharField(max_length=64)),
                        ("submitted_at", models.DateTimeField()),
                        ("order_at", models.DateTimeField()),
                        ("eligible_at", models.DateTimeField()),
                        ("not_before", models.DateTimeField(blank=True, null=True)),
                        ("started_at", models.DateTimeField(blank=True, null=True)),
                        ("ended_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "end_reason",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("succeeded", "succeeded"),
                                    ("failed", "failed"),
                                    ("oom", "oom"),
                                    ("gpu-oom", "gpu-oom"),
                                    ("cancelled", "cancelled"),
                                    ("timeout", "timeout"),
                                    ("preempted", "preempted"),
                                    ("node-lost", "node-lost"),
                                    ("card-failed", "card-failed"),
                                    ("image-pull", "image-pull"),
                                    ("start-timeout", "start-timeout"),
                                    ("evicted", "evicted"),
                                    ("platform-fault", "platform-fault"),
                                ],
                                default="",
                                max_length=16,
                            ),
                        ),
                        ("cancel_asked_at", models.DateTimeField(blank=True, null=True)),
                        ("expected_runtime_s", models.PositiveIntegerField(blank=True, null=True)),
                        ("max_runtime_s", models.PositiveIntegerField(blank=True, null=True)),
                        ("max_restarts", models.PositiveSmallIntegerField(default=3)),
                        ("restarts_used", models.PositiveSmallIntegerField(default=0)),
                        ("runs_count", models.PositiveIntegerField(default=0)),
                        ("preemptions", models.PositiveIntegerField(default=0)),
                        ("node_losses", models.PositiveIntegerField(default=0)),
                        ("backoff_until", models.DateTimeField(blank=True, null=True)),
                        ("backoff_count", models.PositiveSmallIntegerField(default=0)),
                        ("backoff_message", models.CharField(blank=True, default="", max_length=1000)),
                        ("planner_faults", models.PositiveSmallIntegerField(default=0)),
                        (
                            "topology_mode",
                            models.CharField(
                                choices=[("none", "any"), ("preferred", "preferred"), ("required", "required")],
                                default="none",
                                max_length=10,
                            ),
                        ),
                        ("topology_level", models.CharField(blank=True, default="", max_length=63)),
                        ("elastic_step", models.PositiveIntegerField(blank=True, null=True)),
                        ("elastic_cooldown_s", models.PositiveIntegerField(blank=True, null=True)),
                        ("checkpoint_path", models.CharField(blank=True, default="", max_length=500)),
                        ("checkpoint_interval_s", models.PositiveIntegerField(blank=True, null=True)),
                        ("output_claim", models.CharField(blank=True, default="", max_length=63)),
                        ("output_path", models.CharField(blank=True, default="", max_length=500)),
                        ("objective", models.CharField(default="fastest", max_length=10)),
                        ("deadline", models.DateTimeField(blank=True, null=True)),
                        ("callback_url", models.URLField(blank=True, default="", max_length=500)),
                        ("array_index", models.PositiveIntegerField(blank=True, null=True)),
                        ("array_size", models.PositiveIntegerField(blank=True, null=True)),
                        ("array_limit", models.PositiveIntegerField(blank=True, null=True)),
                        ("cost_amount", models.DecimalField(blank=True, decimal_places=6, max_digits=20, null=True)),
                        ("cost_currency", models.CharField(blank=True, default="", max_length=3)),
                        ("cost_as_of", models.DateTimeField(blank=True, null=True)),
                        ("cost_final", models.BooleanField(default=False)),
                        ("source", models.CharField(blank=True, default="", max_length=64)),
                        ("source_ref", models.CharField(blank=True, default="", max_length=200)),
                        (
                            "array_parent",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="array_members",
                                to="scheduling.job",
                            ),
                        ),
                        (
                            "cancel_asked_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "cloned_from",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="clones",
                                to="scheduling.job",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to="tenants.project"
                            ),
                        ),
                        (
                            "queue",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="jobs", to="tenants.queue"
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="jobs", to="tenants.tenant"
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="jobs",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-id"],
                        "indexes": [
                            models.Index(
                                condition=models.Q(("state__in", ["queued", "starting", "running", "stopping"])),
                                fields=["id"],
                                name="job_live",
                            ),
                            models.Index(fields=["tenant", "-id"], name="scheduling__tenant__711ba4_idx"),
                            models.Index(fields=["tenant", "state", "-id"], name="scheduling__tenant__ce370b_idx"),
                            models.Index(fields=["queue", "-id"], name="scheduling__queue_i_8ede43_idx"),
                            models.Index(fields=["user", "-id"], name="scheduling__user_id_bf4255_idx"),
                            django.contrib.postgres.indexes.GinIndex(
                                fields=["labels"], name="job_labels", opclasses=["jsonb_path_ops"]
                            ),
                        ],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("priority__lte", 1000)), name="job_priority_in_range"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "state__in",
                                        [
                                            "queued",
                                            "starting",
                                            "running",
                                            "stopping",
                                            "suspended",
                                            "succeeded",
                                            "failed",
                                            "cancelled",
                                        ],
                                    )
                                ),
                                name="job_state_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("tier__in", ["production", "development", "batch"])),
                                name="job_tier_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(
                                        ("ended_at__isnull", False), ("state__in", ["succeeded", "failed", "cancelled"])
                                    ),
                                    models.Q(
                                        models.Q(("state__in", ["succeeded", "failed", "cancelled"]), _negated=True),
                                        ("ended_at__isnull", True),
                                    ),
                                    _connector="OR",
                                ),
                                name="job_ended_at_iff_terminal",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("source", ""), _negated=True),
                                fields=("source", "source_ref"),
                                name="imported_job_once",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Node",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=253)),
                        ("uid", models.CharField(blank=True, default="", max_length=64)),
                        ("gpus", models.PositiveIntegerField(default=0)),
                        ("cpu_m", models.BigIntegerField(default=0)),
                        ("memory_mib", models.BigIntegerField(default=0)),
                        ("max_pods", models.PositiveIntegerField(default=110)),
                        (
                            "state",
                            models.CharField(
                                choices=[("ready", "ready"), ("not-ready", "not ready"), ("lost", "lost")],
                                default="ready",
                                max_length=10,
                            ),
                        ),
                        ("cordoned", models.BooleanField(default=False)),
                        ("quarantined_until", models.DateTimeField(blank=True, null=True)),
                        ("measured_ppm", models.BigIntegerField(blank=True, null=True)),
                        ("labels", models.JSONField(blank=True, default=dict)),
                        ("ready_since", models.DateTimeField(blank=True, null=True)),
                        ("last_sign_at", models.DateTimeField(blank=True, null=True)),
                        ("lost_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "cluster",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="nodes", to="tenants.cluster"
                            ),
                        ),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="nodes",
                                to="tenants.flavor",
                            ),
                        ),
                        (
                            "pool",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="nodes", to="tenants.pool"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["name", "id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("cluster", "name"), name="node_once_a_cluster"),
                            models.CheckConstraint(
                                condition=models.Q(("cpu_m__gte", 0), ("memory_mib__gte", 0)),
                                name="node_amounts_not_negative",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("state__in", ["ready", "not-ready", "lost"])),
                                name="node_state_known",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="SchedulerEpoch",
                    fields=[
                        ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                        ("epoch", models.BigIntegerField(default=0)),
                        ("holder", models.CharField(blank=True, default="", max_length=120)),
                        ("lease_until", models.DateTimeField(null=True)),
                        ("last_cycle_at", models.DateTimeField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="UtilisationHour",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("hour", models.DateTimeField()),
                        ("run_id", models.BigIntegerField()),
                        ("held_units_s", models.BigIntegerField(default=0)),
                        ("sampled_units_s", models.BigIntegerField(default=0)),
                        ("busy_units_s", models.BigIntegerField(default=0)),
                        ("peak_vram_mib", models.BigIntegerField(null=True)),
                        ("flavor", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="tenants.flavor")),
                        ("queue", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="tenants.queue")),
                        ("tenant", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="tenants.tenant")),
                    ],
                    options={
                        "indexes": [models.Index(fields=["queue", "hour"], name="scheduling__queue_i_108363_idx")],
                        "constraints": [
                            models.UniqueConstraint(fields=("hour", "run_id", "flavor"), name="utilisation_hour_once")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Card",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("index", models.PositiveSmallIntegerField()),
                        (
                            "mode",
                            models.CharField(
                                choices=[
                                    ("whole", "whole card"),
                                    ("shared", "shared card"),
                                    ("mig", "MIG"),
                                    ("any", "any mode"),
                                    ("none", "CPU only"),
                                ],
                                default="whole",
                                max_length=8,
                            ),
                        ),
                        (
                            "health",
                            models.CharField(
                                choices=[("ok", "in service"), ("failed", "out of service")], default="ok", max_length=8
                            ),
                        ),
                        ("failed_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "flavor",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="cards", to="tenants.flavor"
                            ),
                        ),
                        (
                            "node",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="cards", to="scheduling.node"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["node_id", "index"],
                        "constraints": [models.UniqueConstraint(fields=("node", "index"), name="card_once_a_node")],
                    },
                ),
                migrations.CreateModel(
                    name="Forecast",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("at", models.DateTimeField()),
                        ("earliest", models.DateTimeField(null=True)),
                        ("likely", models.DateTimeField(null=True)),
                        ("latest", models.DateTimeField(null=True)),
                        ("why_not", models.CharField(blank=True, default="", max_length=40)),
                        ("started_at", models.DateTimeField(null=True)),
                        ("held", models.BooleanField(null=True)),
                        (
                            "job",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="forecasts",
                                to="scheduling.job",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-id"],
                        "indexes": [models.Index(fields=["job", "-id"], name="scheduling__job_id_50e7d7_idx")],
                    },
                ),
                migrations.CreateModel(
                    name="JobDataset",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=120)),
                        (
                            "job",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="datasets",
                                to="scheduling.job",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [models.UniqueConstraint(fields=("job", "name"), name="dataset_once_a_job")],
                    },
                ),
                migrations.CreateModel(
                    name="JobDependency",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "condition",
                            models.CharField(
                                choices=[("success", "success"), ("any", "any end")], default="success", max_length=8
                            ),
                        ),
                        (
                            "job",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="dependencies",
                                to="scheduling.job",
                            ),
                        ),
                        (
                            "on_job",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="dependents",
                                to="scheduling.job",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(fields=("job", "on_job"), name="dependency_once"),
                            models.CheckConstraint(
                                condition=models.Q(("job", models.F("on_job")), _negated=True),
                                name="no_job_waits_for_itself",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="NodeDomain",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("rank", models.PositiveSmallIntegerField()),
                        ("level", models.CharField(max_length=63)),
                        ("domain", models.CharField(max_length=120)),
                        (
                            "node",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="domains",
                                to="scheduling.node",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(fields=("node", "level"), name="node_domain_once_a_level")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="NodeInterval",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("cards", models.PositiveIntegerField()),
                        ("cards_out", models.PositiveIntegerField(default=0)),
                        ("state", models.CharField(max_length=10)),
                        ("during", django.contrib.postgres.fields.ranges.DateTimeRangeField()),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to="tenants.flavor"
                            ),
                        ),
                        (
                            "node",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="intervals",
                                to="scheduling.node",
                            ),
                        ),
                        ("pool", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="tenants.pool")),
                        (
                            "tenant",
                            models.ForeignKey(
                                blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to="tenants.tenant"
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            django.contrib.postgres.constraints.ExclusionConstraint(
                                expressions=[("node", "="), ("during", "&&")], name="node_is_one_thing_at_a_time"
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Reservation",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("kind", models.CharField(max_length=14)),
                        ("tier", models.CharField(blank=True, default="", max_length=12)),
                        ("amount_m", models.BigIntegerField(default=0)),
                        ("from_at", models.DateTimeField()),
                        ("to_at", models.DateTimeField(blank=True, null=True)),
                        ("created_at", models.DateTimeField()),
                        ("released_at", models.DateTimeField(blank=True, null=True)),
                        ("why", models.CharField(blank=True, default="", max_length=40)),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to="tenants.flavor"
                            ),
                        ),
                        (
                            "job",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="reservations",
                                to="scheduling.job",
                            ),
                        ),
                        (
                            "queue",
                            models.ForeignKey(
                                blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to="tenants.queue"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                    },
                ),
                migrations.CreateModel(
                    name="Role",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("position", models.PositiveSmallIntegerField()),
                        ("name", models.CharField(max_length=40)),
                        ("replicas", models.PositiveIntegerField()),
                        ("minimum", models.PositiveIntegerField()),
                        ("in_gang", models.BooleanField(default=True)),
                        ("period_s", models.PositiveIntegerField(blank=True, null=True)),
                        ("cards_m", models.BigIntegerField(default=0)),
                        ("cpu_m", models.BigIntegerField(default=0)),
                        ("memory_mib", models.BigIntegerField(default=0)),
                        ("vram_mib", models.BigIntegerField(default=0)),
                        ("cpu_limit_m", models.BigIntegerField(blank=True, null=True)),
                        ("memory_limit_mib", models.BigIntegerField(blank=True, null=True)),
                        ("image", models.CharField(max_length=500)),
                        (
                            "command",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.TextField(), blank=True, default=list, size=None
                            ),
                        ),
                        (
                            "args",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.TextField(), blank=True, default=list, size=None
                            ),
                        ),
                        ("env", models.JSONField(blank=True, default=dict)),
                        (
                            "env_from",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.CharField(max_length=63), blank=True, default=list, size=None
                            ),
                        ),
                        (
                            "image_pull",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.CharField(max_length=63), blank=True, default=list, size=None
                            ),
                        ),
                        ("volumes", models.JSONField(blank=True, default=list)),
                        (
                            "ports",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.PositiveIntegerField(), blank=True, default=list, size=None
                            ),
                        ),
                        ("shm_mib", models.BigIntegerField(blank=True, null=True)),
                        ("run_as_user", models.BigIntegerField(blank=True, null=True)),
                        ("run_as_group", models.BigIntegerField(blank=True, null=True)),
                        ("fs_group", models.BigIntegerField(blank=True, null=True)),
                        (
                            "job",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="roles", to="scheduling.job"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["job_id", "position"],
                        "constraints": [
                            models.UniqueConstraint(fields=("job", "name"), name="role_name_once_a_job"),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("replicas__gte", 1), ("minimum__gte", 0), ("minimum__lte", models.F("replicas"))
                                ),
                                name="role_minimum_within_replicas",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("cards_m__gte", 0), ("cpu_m__gte", 0), ("memory_mib__gte", 0), ("vram_mib__gte", 0)
                                ),
                                name="role_asks_not_negative",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Run",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("number", models.PositiveIntegerField()),
                        ("namespace", models.CharField(max_length=63)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("admitted", "admitted"),
                                    ("starting", "starting"),
                                    ("running", "running"),
                                    ("stopping", "stopping"),
                                    ("ended", "ended"),
                                ],
                                default="admitted",
                                max_length=10,
                            ),
                        ),
                        ("epoch", models.BigIntegerField(default=0)),
                        ("admitted_at", models.DateTimeField()),
                        ("admitted_wall", models.DateTimeField()),
                        ("dispatched_at", models.DateTimeField(blank=True, null=True)),
                        ("started_at", models.DateTimeField(blank=True, null=True)),
                        ("stopping_at", models.DateTimeField(blank=True, null=True)),
                        ("grace_until", models.DateTimeField(blank=True, null=True)),
                        ("ended_at", models.DateTimeField(blank=True, null=True)),
                        ("last_sign_at", models.DateTimeField(blank=True, null=True)),
                        ("stop_reason", models.CharField(blank=True, default="", max_length=16)),
                        (
                            "end_reason",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("succeeded", "succeeded"),
                                    ("failed", "failed"),
                                    ("oom", "oom"),
                                    ("gpu-oom", "gpu-oom"),
                                    ("cancelled", "cancelled"),
                                    ("timeout", "timeout"),
                                    ("preempted", "preempted"),
                                    ("node-lost", "node-lost"),
                                    ("card-failed", "card-failed"),
                                    ("image-pull", "image-pull"),
                                    ("start-timeout", "start-timeout"),
                                    ("evicted", "evicted"),
                                    ("platform-fault", "platform-fault"),
                                ],
                                default="",
                                max_length=16,
                            ),
                        ),
                        ("end_message", models.CharField(blank=True, default="", max_length=1000)),
                        ("exit_code", models.IntegerField(blank=True, null=True)),
                        ("fenced", models.BooleanField(default=False)),
                        ("force_deleted_at", models.DateTimeField(blank=True, null=True)),
                        ("slowdown_ppm", models.BigIntegerField(default=0)),
                        ("levels_crossed", models.CharField(blank=True, default="", max_length=200)),
                        ("resumes", models.BooleanField(default=False)),
                        ("token_digest", models.CharField(blank=True, default="", max_length=64)),
                        ("progress_ppm", models.PositiveIntegerField(blank=True, null=True)),
                        ("step", models.BigIntegerField(blank=True, null=True)),
                        ("loss", models.FloatField(blank=True, null=True)),
                        ("wanted_size", models.PositiveIntegerField(blank=True, null=True)),
                        ("checkpoint_state", models.CharField(blank=True, default="", max_length=8)),
                        ("checkpoint_path", models.CharField(blank=True, default="", max_length=500)),
                        ("checkpoint_at", models.DateTimeField(blank=True, null=True)),
                        ("reported_at", models.DateTimeField(blank=True, null=True)),
                        ("peak_vram_mib", models.BigIntegerField(blank=True, null=True)),
                        ("last_resize_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "cluster",
                            models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="tenants.cluster"),
                        ),
                        (
                            "job",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="scheduling.job"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["job_id", "number"],
                        "indexes": [
                            models.Index(
                                condition=models.Q(("state__in", ["admitted", "starting", "running", "stopping"])),
                                fields=["id"],
                                name="run_live",
                            )
                        ],
                        "constraints": [
                            models.UniqueConstraint(fields=("job", "number"), name="run_number_once_a_job"),
                            models.UniqueConstraint(
                                condition=models.Q(("state__in", ["admitted", "starting", "running", "stopping"])),
                                fields=("job",),
                                name="one_live_run_a_job",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("state__in", ["admitted", "starting", "running", "stopping", "ended"])
                                ),
                                name="run_state_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("ended_at__isnull", False), ("state", "ended")),
                                    models.Q(models.Q(("state", "ended"), _negated=True), ("ended_at__isnull", True)),
                                    _connector="OR",
                                ),
                                name="run_ended_at_iff_ended",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="WaitReason",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("code", models.CharField(max_length=24)),
                        ("since", models.DateTimeField()),
                        ("until", models.DateTimeField(blank=True, null=True)),
                        ("cycle_id", models.BigIntegerField(null=True)),
                        ("need", models.JSONField(default=dict)),
                        ("have", models.JSONField(default=dict)),
                        ("short", models.JSONField(default=dict)),
                        ("holders", models.JSONField(default=list)),
                        ("suggestion", models.CharField(blank=True, default="", max_length=40)),
                        ("hint", models.JSONField(default=dict)),
                        ("detail", models.CharField(blank=True, default="", max_length=1000)),
                        ("reserved_start", models.DateTimeField(blank=True, null=True)),
                        (
                            "kept_nodes",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.CharField(max_length=253), default=list, size=None
                            ),
                        ),
                        (
                            "job",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="wait_reasons",
                                to="scheduling.job",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-id"],
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("until__isnull", True)),
                                fields=("job",),
                                name="one_current_wait_reason",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Loan",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("amount_m", models.BigIntegerField()),
                        ("opened_at", models.DateTimeField()),
                        ("expires_at", models.DateTimeField()),
                        ("renewals", models.PositiveIntegerField(default=0)),
                        ("ended_at", models.DateTimeField(blank=True, null=True)),
                        ("why", models.CharField(blank=True, default="", max_length=20)),
                        ("flavor", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="tenants.flavor")),
                        (
                            "queue",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="loans", to="tenants.queue"
                            ),
                        ),
                        (
                            "run",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="loans", to="scheduling.run"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("amount_m__gt", 0)), name="loan_amount_positive"
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("ended_at__isnull", True)),
                                fields=("run", "flavor"),
                                name="one_open_loan_a_run_and_flavor",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Pod",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("role_name", models.CharField(max_length=40)),
                        ("rank", models.PositiveIntegerField()),
                        ("index", models.PositiveIntegerField()),
                        ("name", models.CharField(max_length=253)),
                        ("uid", models.CharField(blank=True, default="", max_length=64)),
                        (
                            "phase",
                            models.CharField(
                                choices=[
                                    ("planned", "planned"),
                                    ("pending", "pending"),
                                    ("running", "running"),
                                    ("succeeded", "succeeded"),
                                    ("failed", "failed"),
                                    ("gone", "gone"),
                                ],
                                default="planned",
                                max_length=10,
                            ),
                        ),
                        ("in_gang", models.BooleanField(default=True)),
                        ("created_at", models.DateTimeField(blank=True, null=True)),
                        ("started_at", models.DateTimeField(blank=True, null=True)),
                        ("finished_at", models.DateTimeField(blank=True, null=True)),
                        ("exit_code", models.IntegerField(blank=True, null=True)),
                        ("reason", models.CharField(blank=True, default="", max_length=60)),
                        ("message", models.CharField(blank=True, default="", max_length=1000)),
                        ("last_sign_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "node",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="pods", to="scheduling.node"
                            ),
                        ),
                        (
                            "run",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="pods", to="scheduling.run"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["run_id", "rank"],
                        "constraints": [
                            models.UniqueConstraint(fields=("run", "role_name", "index"), name="pod_once_a_run"),
                            models.UniqueConstraint(fields=("run", "name"), name="pod_name_once_a_run"),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Preemption",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("reason", models.CharField(max_length=20)),
                        ("notice_at", models.DateTimeField()),
                        ("grace_until", models.DateTimeField()),
                        (
                            "outcome",
                            models.CharField(
                                choices=[
                                    ("pending", "leaving"),
                                    ("left", "left within its grace"),
                                    ("forced", "ended by force"),
                                    ("finished", "finished by itself"),
                                ],
                                default="pending",
                                max_length=10,
                            ),
                        ),
                        ("left_at", models.DateTimeField(blank=True, null=True)),
                        ("lost_card_s", models.BigIntegerField(default=0)),
                        ("cycle_id", models.BigIntegerField(null=True)),
                        (
                            "for_job",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="scheduling.job",
                            ),
                        ),
                        (
                            "job",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="preemption_records",
                                to="scheduling.job",
                            ),
                        ),
                        (
                            "run",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="preemption",
                                to="scheduling.run",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-id"],
                    },
                ),
                migrations.CreateModel(
                    name="ReservationNode",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("cards", models.PositiveIntegerField(default=0)),
                        ("node", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="scheduling.node")),
                        (
                            "reservation",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="kept",
                                to="scheduling.reservation",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="RoleFlavor",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("position", models.PositiveSmallIntegerField()),
                        ("flavor", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="tenants.flavor")),
                        (
                            "role",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="role_flavors",
                                to="scheduling.role",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["role_id", "position"],
                        "constraints": [models.UniqueConstraint(fields=("role", "flavor"), name="role_flavor_once")],
                    },
                ),
                migrations.CreateModel(
                    name="Lease",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("slot", models.PositiveSmallIntegerField()),
                        ("quantity", models.PositiveIntegerField(default=0)),
                        ("borrowed", models.BooleanField(default=False)),
                        ("cpu_m", models.BigIntegerField(default=0)),
                        ("memory_mib", models.BigIntegerField(default=0)),
                        ("vram_mib", models.BigIntegerField(default=0)),
                        ("opened_at", models.DateTimeField()),
                        ("closed_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "card",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="leases",
                                to="scheduling.card",
                            ),
                        ),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to="tenants.flavor"
                            ),
                        ),
                        (
                            "node",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="leases", to="scheduling.node"
                            ),
                        ),
                        (
                            "pod",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="leases", to="scheduling.pod"
                            ),
                        ),
                        (
                            "run",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="leases", to="scheduling.run"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["run_id", "pod_id", "slot"],
                        "indexes": [
                            models.Index(
                                condition=models.Q(("closed_at__isnull", True)), fields=["run"], name="lease_open"
                            )
                        ],
                        "constraints": [
                            models.UniqueConstraint(fields=("pod", "slot"), name="lease_once_a_slot"),
                            models.CheckConstraint(
                                condition=models.Q(("quantity__lte", 7000)), name="lease_at_most_a_card"
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("closed_at__isnull", True), ("quantity", 7000)),
                                fields=("card",),
                                name="whole_card_one_open_lease",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="LoanSide",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("amount_m", models.BigIntegerField()),
                        (
                            "cohort",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="lent",
                                to="tenants.cohort",
                            ),
                        ),
                        (
                            "loan",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="sides", to="scheduling.loan"
                            ),
                        ),
                        (
                            "queue",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="lent",
                                to="tenants.queue",
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="lent",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                    },
                ),
                migrations.CreateModel(
                    name="ImportedEvent",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("source", models.CharField(max_length=64)),
                        ("event_id", models.CharField(max_length=200)),
                        ("content_digest", models.CharField(max_length=64)),
                        ("imported_at", models.DateTimeField()),
                        (
                            "lease",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="scheduling.lease"
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(fields=("source", "event_id"), name="imported_event_once")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="LeaseSegment",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "kind",
                            models.CharField(
                                choices=[
                                    ("billable", "charged"),
                                    ("grace", "grace after an eviction notice"),
                                    ("fault", "platform fault"),
                                    ("after-last-sign", "after the last sign of life"),
                                ],
                                max_length=16,
                            ),
                        ),
                        ("during", django.contrib.postgres.fields.ranges.DateTimeRangeField()),
                        ("quantity", models.PositiveIntegerField()),
                        ("borrowed", models.BooleanField(default=False)),
                        (
                            "card",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="segments",
                                to="scheduling.card",
                            ),
                        ),
                        (
                            "lease",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="segments",
                                to="scheduling.lease",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            django.contrib.postgres.constraints.ExclusionConstraint(
                                condition=models.Q(("card__isnull", False), ("quantity", 7000)),
                                expressions=[("card", "="), ("during", "&&")],
                                name="one_card_one_holder",
                            ),
                            django.contrib.postgres.constraints.ExclusionConstraint(
                                expressions=[("lease", "="), ("during", "&&")], name="lease_segments_apart"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("during__isempty", False)), name="segment_not_empty"
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="SegmentQuarantine",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("kind", models.CharField(max_length=16)),
                        ("start_at", models.DateTimeField()),
                        ("end_at", models.DateTimeField(null=True)),
                        ("reason", models.CharField(max_length=500)),
                        ("created_at", models.DateTimeField()),
                        ("resolved_at", models.DateTimeField(null=True)),
                        (
                            "lease",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="quarantined",
                                to="scheduling.lease",
                            ),
                        ),
                    ],
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="job",
                    trigger=pgtrigger.compiler.Trigger(
                        name="job_moves",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            declare="DECLARE _is_valid_transition BOOLEAN;",
                            func='SELECT CONCAT(OLD."state", \':\', NEW."state") = ANY(\'{queued:cancelled,queued:failed,queued:starting,queued:suspended,starting:cancelled,starting:failed,starting:queued,starting:running,starting:stopping,starting:succeeded,running:cancelled,running:failed,running:queued,running:stopping,running:succeeded,stopping:cancelled,stopping:failed,stopping:queued,stopping:succeeded,suspended:cancelled,suspended:queued}\'::text[]) INTO _is_valid_transition; IF (_is_valid_transition IS FALSE AND OLD."state" IS DISTINCT FROM NEW."state") THEN RAISE EXCEPTION \'pgtrigger: Invalid transition of field "state" from "%" to "%" on table %\', OLD."state", NEW."state", TG_TABLE_NAME; ELSE RETURN NEW; END IF;',
                            hash="f776e0fea8c6e284cd3d493bfec9ca0e450ade3a",
                            operation="UPDATE",
                            pgid="pgtrigger_job_moves_48700",
                            table="scheduling_job",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="job",
                    trigger=pgtrigger.compiler.Trigger(
                        name="jobs_are_kept",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;",
                            hash="4ca7fab3cbaa11ab88668d178ef1f44416590c37",
                            operation="DELETE",
                            pgid="pgtrigger_jobs_are_kept_d7400",
                            table="scheduling_job",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="leasesegment",
                    trigger=pgtrigger.compiler.Trigger(
                        name="shares_sum_to_a_card",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (NEW.card_id IS NOT NULL)",
                            declare="DECLARE held BIGINT;",
                            func="\n    PERFORM 1 FROM scheduling_card WHERE id = NEW.card_id FOR UPDATE;\n    WITH other AS (\n        SELECT during, quantity FROM scheduling_leasesegment\n        WHERE card_id = NEW.card_id AND id IS DISTINCT FROM NEW.id AND during && NEW.during\n    ), edge AS (\n        SELECT lower(NEW.during) AS at UNION SELECT lower(during) FROM other WHERE lower(during) > lower(NEW.during)\n    )\n    SELECT max(total) INTO held FROM (\n        SELECT (SELECT coalesce(sum(quantity), 0) FROM other WHERE during @> edge.at) AS total FROM edge\n    ) AS totals;\n    IF held + NEW.quantity > 7000 THEN\n        RAISE EXCEPTION 'card % is held by more than a whole card', NEW.card_id\n            USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'one_card_one_holder';\n    END IF;\n    RETURN NEW;\n",
                            hash="4e4e009981a85571209a8453644c05f2e634eb40",
                            operation="INSERT OR UPDATE",
                            pgid="pgtrigger_shares_sum_to_a_card_0b571",
                            table="scheduling_leasesegment",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="run",
                    trigger=pgtrigger.compiler.Trigger(
                        name="run_moves",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            declare="DECLARE _is_valid_transition BOOLEAN;",
                            func='SELECT CONCAT(OLD."state", \':\', NEW."state") = ANY(\'{admitted:ended,admitted:running,admitted:starting,admitted:stopping,starting:ended,starting:running,starting:stopping,running:ended,running:stopping,stopping:ended}\'::text[]) INTO _is_valid_transition; IF (_is_valid_transition IS FALSE AND OLD."state" IS DISTINCT FROM NEW."state") THEN RAISE EXCEPTION \'pgtrigger: Invalid transition of field "state" from "%" to "%" on table %\', OLD."state", NEW."state", TG_TABLE_NAME; ELSE RETURN NEW; END IF;',
                            hash="051cc41e4d9f062bcd8f9d45aba30e65df5a16c5",
                            operation="UPDATE",
                            pgid="pgtrigger_run_moves_0946b",
                            table="scheduling_run",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="run",
                    trigger=pgtrigger.compiler.Trigger(
                        name="runs_are_kept",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;",
                            hash="8ea6a9000b7abb00e5d69169bb7ef48cfd848786",
                            operation="DELETE",
                            pgid="pgtrigger_runs_are_kept_38b15",
                            table="scheduling_run",
                            when="BEFORE",
                        ),
                    ),
                ),
            ],
        ),
    ]
