import django.contrib.auth.models
import django.contrib.auth.validators
import django.contrib.postgres.constraints
import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
import django.contrib.postgres.operations
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.comparison
import django.utils.timezone
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models

import berth.common.together
import tenants.models.quota


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("pghistory", "0007_auto_20250421_0444"),
    ]

    operations = [
        django.contrib.postgres.operations.BtreeGistExtension(),
        berth.common.together.Together(
            operations=[
                migrations.CreateModel(
                    name="Cluster",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=63, unique=True)),
                        (
                            "kind",
                            models.CharField(
                                choices=[("simulated", "simulated"), ("kubernetes", "Kubernetes")],
                                default="simulated",
                                max_length=12,
                            ),
                        ),
                        ("credential_ref", models.CharField(blank=True, default="", max_length=200)),
                        ("region", models.CharField(blank=True, default="", max_length=63)),
                        ("reachable", models.BooleanField(default=True)),
                        ("last_listed_at", models.DateTimeField(blank=True, null=True)),
                        ("last_error", models.CharField(blank=True, default="", max_length=500)),
                    ],
                    options={
                        "ordering": ["name"],
                    },
                ),
                migrations.CreateModel(
                    name="User",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("password", models.CharField(max_length=128, verbose_name="password")),
                        ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                        (
                            "is_superuser",
                            models.BooleanField(
                                default=False,
                                help_text="Designates that this user has all permissions without explicitly assigning them.",
                                verbose_name="superuser status",
                            ),
                        ),
                        (
                            "username",
                            models.CharField(
                                error_messages={"unique": "A user with that username already exists."},
                                help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                                max_length=150,
                                unique=True,
                                validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                                verbose_name="username",
                            ),
                        ),
                        ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                        ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                        ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                        (
                            "is_staff",
                            models.BooleanField(
                                default=False,
                                help_text="Designates whether the user can log into this admin site.",
                                verbose_name="staff status",
                            ),
                        ),
                        (
                            "is_active",
                            models.BooleanField(
                                default=True,
                                help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                                verbose_name="active",
                            ),
                        ),
                        (
                            "date_joined",
                            models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined"),
                        ),
                        (
                            "kind",
                            models.CharField(
                                choices=[("human", "person"), ("service", "service account")],
                                default="human",
                                max_length=10,
                            ),
                        ),
                        (
                            "language",
                            models.CharField(
                                choices=[("en", "English"), ("zh-hans", "简体中文")], default="en", max_length=10
                            ),
                        ),
                        ("time_zone", models.CharField(default="UTC", max_length=64)),
                        (
                            "theme",
                            models.CharField(
                                choices=[("auto", "system"), ("light", "light"), ("dark", "dark")],
                                default="auto",
                                max_length=10,
                            ),
                        ),
                        ("disabled_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "groups",
                            models.ManyToManyField(
                                blank=True,
                                help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                                related_name="user_set",
                                related_query_name="user",
                                to="auth.group",
                                verbose_name="groups",
                            ),
                        ),
                        (
                            "user_permissions",
                            models.ManyToManyField(
                                blank=True,
                                help_text="Specific permissions for this user.",
                                related_name="user_set",
                                related_query_name="user",
                                to="auth.permission",
                                verbose_name="user permissions",
                            ),
                        ),
                    ],
                    options={
                        "verbose_name": "user",
                        "verbose_name_plural": "users",
                        "abstract": False,
                    },
                    managers=[
                        ("objects", django.contrib.auth.models.UserManager()),
                    ],
                ),
                migrations.CreateModel(
                    name="Cohort",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=63, unique=True)),
                        ("weight_ppm", models.BigIntegerField(default=1000000)),
                        (
                            "parent",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="children",
                                to="tenants.cohort",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["name"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("weight_ppm__gte", 0), ("weight_ppm__lte", 1000000000)),
                                name="cohort_weight_in_range",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("parent", models.F("id")), _negated=True),
                                name="cohort_not_its_own_parent",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="ApiToken",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("token_key", models.CharField(db_index=True, max_length=25)),
                        ("created", models.DateTimeField(auto_now_add=True)),
                        ("expiry", models.DateTimeField(blank=True, null=True)),
                        ("digest", models.CharField(max_length=128, unique=True)),
                        ("name", models.CharField(max_length=80)),
                        (
                            "scopes",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.CharField(max_length=20), default=list, size=None
                            ),
                        ),
                        ("last_used_at", models.DateTimeField(blank=True, null=True)),
                        ("revoked_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="auth_token_set",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                    },
                ),
                migrations.CreateModel(
                    name="CohortEvent",
                    fields=[
                        ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                        ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                        ("pgh_label", models.TextField(help_text="The event label.")),
                        ("id", models.BigIntegerField()),
                        ("name", models.CharField(max_length=63)),
                        ("weight_ppm", models.BigIntegerField(default=1000000)),
                        (
                            "parent",
                            models.ForeignKey(
                                blank=True,
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.cohort",
                            ),
                        ),
                        (
                            "pgh_context",
                            models.ForeignKey(
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="pghistory.context",
                            ),
                        ),
                        (
                            "pgh_obj",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="events",
                                to="tenants.cohort",
                            ),
                        ),
                    ],
                    options={
                        "abstract": False,
                    },
                ),
                migrations.CreateModel(
                    name="IdempotencyKey",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("key", models.CharField(max_length=200)),
                        ("method_path", models.CharField(max_length=300)),
                        ("request_hash", models.CharField(max_length=64)),
                        ("status", models.PositiveSmallIntegerField(null=True)),
                        ("body", models.JSONField(null=True)),
                        ("created_at", models.DateTimeField()),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "constraints": [models.UniqueConstraint(fields=("user", "key"), name="idempotency_key_once")],
                    },
                ),
                migrations.CreateModel(
                    name="PlatformRole",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "role",
                            models.CharField(
                                choices=[("finance", "finance"), ("platform-admin", "platform admin")], max_length=20
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="platform_roles",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "constraints": [models.UniqueConstraint(fields=("user", "role"), name="platform_role_once")],
                    },
                ),
                migrations.CreateModel(
                    name="Tenant",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "slug",
                            models.CharField(
                                max_length=40,
                                unique=True,
                                validators=[
                                    django.core.validators.RegexValidator(
                                        "^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$",
                                        "Use 1–40 lower-case letters, digits and hyphens; start with a letter.",
                                    )
                                ],
                            ),
                        ),
                        ("name", models.CharField(max_length=120)),
                        ("weight_ppm", models.BigIntegerField(default=1000000)),
                        (
                            "isolation",
                            models.CharField(
                                choices=[
                                    ("shared", "shared pool"),
                                    ("partition", "own partition"),
                                    ("dedicated", "own cluster"),
                                ],
                                default="shared",
                                max_length=12,
                            ),
                        ),
                        (
                            "service_tier",
                            models.CharField(
                                choices=[("standard", "standard"), ("priority", "priority")],
                                default="standard",
                                max_length=12,
                            ),
                        ),
                        ("cost_centre", models.CharField(blank=True, default="", max_length=64)),
                        ("billing_timezone", models.CharField(default="UTC", max_length=64)),
                        (
                            "currency",
                            models.CharField(
                                default="CNY",
                                max_length=3,
                                validators=[django.core.validators.RegexValidator("^[A-Z]{3}$")],
                            ),
                        ),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("active", "active"),
                                    ("budget-stopped", "stopped by budget"),
                                    ("closing", "closing"),
                                    ("closed", "closed"),
                                ],
                                default="active",
                                max_length=16,
                            ),
                        ),
                        ("created_at", models.DateTimeField()),
                        (
                            "cohort",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="tenants",
                                to="tenants.cohort",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["slug"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("weight_ppm__gte", 0), ("weight_ppm__lte", 1000000000)),
                                name="tenant_weight_in_range",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("currency__regex", "^[A-Z]{3}$")),
                                name="tenant_currency_is_iso_4217",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("slug__regex", "^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$")),
                                name="tenant_slug_is_a_dns_label",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("state__in", ["active", "budget-stopped", "closing", "closed"])),
                                name="tenant_state_known",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Membership",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "role",
                            models.CharField(
                                choices=[("member", "member"), ("admin", "admin")], default="member", max_length=10
                            ),
                        ),
                        ("valid_from", models.DateTimeField()),
                        ("valid_to", models.DateTimeField(blank=True, null=True)),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="memberships",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="memberships",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("valid_to__isnull", True)),
                                fields=("tenant", "user"),
                                name="one_open_membership",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("valid_to__isnull", True),
                                    ("valid_to__gte", models.F("valid_from")),
                                    _connector="OR",
                                ),
                                name="membership_ends_after_start",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Pool",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=63, unique=True)),
                        (
                            "sharing",
                            models.CharField(
                                choices=[
                                    ("shared", "shared"),
                                    ("partition", "one tenant's partition"),
                                    ("dedicated", "one tenant's cluster"),
                                ],
                                default="shared",
                                max_length=12,
                            ),
                        ),
                        (
                            "factor_ppm",
                            models.BigIntegerField(
                                default=1000000,
                                validators=[
                                    django.core.validators.MinValueValidator(1000000),
                                    django.core.validators.MaxValueValidator(2000000),
                                ],
                            ),
                        ),
                        ("high_ppm", models.BigIntegerField(default=850000)),
                        ("low_ppm", models.BigIntegerField(default=750000)),
                        ("draining", models.BooleanField(default=False)),
                        ("cpu_per_card_m", models.BigIntegerField(blank=True, null=True)),
                        ("memory_per_card_mib", models.BigIntegerField(blank=True, null=True)),
                        ("cpu_headroom_m", models.BigIntegerField(default=0)),
                        ("priority_share_ppm", models.BigIntegerField(default=0)),
                        ("limit_ratio_ppm", models.BigIntegerField(default=2000000)),
                        (
                            "cluster",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="pools", to="tenants.cluster"
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="own_pools",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["name"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("factor_ppm__gte", 1000000), ("factor_ppm__lte", 2000000)),
                                name="pool_factor_in_range",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("low_ppm__gt", 0),
                                    ("low_ppm__lt", models.F("high_ppm")),
                                    ("high_ppm__lte", 1000000),
                                ),
                                name="pool_watermarks_in_order",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("factor_ppm", 1000000), ("sharing", "shared"), _connector="OR"),
                                name="over_commit_only_in_shared_pools",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("sharing", "shared"), ("tenant__isnull", True)),
                                    models.Q(models.Q(("sharing", "shared"), _negated=True), ("tenant__isnull", False)),
                                    _connector="OR",
                                ),
                                name="pool_has_a_tenant_unless_shared",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Secret",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("environment", models.CharField(max_length=4)),
                        ("name", models.CharField(max_length=63)),
                        (
                            "kind",
                            models.CharField(
                                choices=[("env", "environment"), ("image-pull", "image pull")],
                                default="env",
                                max_length=12,
                            ),
                        ),
                        (
                            "keys",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.CharField(max_length=253), default=list, size=None
                            ),
                        ),
                        ("store_ref", models.CharField(blank=True, default="", max_length=200)),
                        ("updated_at", models.DateTimeField()),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="secrets", to="tenants.tenant"
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(fields=("tenant", "environment", "name"), name="secret_once")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Project",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("slug", models.CharField(max_length=63)),
                        ("name", models.CharField(blank=True, default="", max_length=120)),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="projects",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["tenant_id", "slug"],
                        "constraints": [
                            models.UniqueConstraint(fields=("tenant", "slug"), name="project_once_a_tenant")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Notification",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("code", models.CharField(max_length=60)),
                        ("params", models.JSONField(default=dict)),
                        ("job_id", models.BigIntegerField(blank=True, null=True)),
                        ("created_at", models.DateTimeField()),
                        ("read_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "user",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="notifications",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="notifications",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-id"],
                        "indexes": [models.Index(fields=["tenant", "-id"], name="tenants_not_tenant__774e18_idx")],
                    },
                ),
                migrations.CreateModel(
                    name="AuditEvent",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("at", models.DateTimeField()),
                        ("actor_name", models.CharField(blank=True, default="", max_length=150)),
                        ("action", models.CharField(max_length=60)),
                        ("object_type", models.CharField(max_length=40)),
                        ("object_id", models.CharField(max_length=120)),
                        ("detail", models.JSONField(default=dict)),
                        ("request_id", models.CharField(blank=True, default="", max_length=64)),
                        (
                            "actor",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-id"],
                        "indexes": [
                            models.Index(fields=["object_type", "object_id"], name="tenants_aud_object__4f2741_idx"),
                            models.Index(fields=["tenant", "-id"], name="tenants_aud_tenant__2d797a_idx"),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="TenantEvent",
                    fields=[
                        ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                        ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                        ("pgh_label", models.TextField(help_text="The event label.")),
                        ("id", models.BigIntegerField()),
                        (
                            "slug",
                            models.CharField(
                                max_length=40,
                                validators=[
                                    django.core.validators.RegexValidator(
                                        "^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$",
                                        "Use 1–40 lower-case letters, digits and hyphens; start with a letter.",
                                    )
                                ],
                            ),
                        ),
                        ("name", models.CharField(max_length=120)),
                        ("weight_ppm", models.BigIntegerField(default=1000000)),
                        (
                            "isolation",
                            models.CharField(
                                choices=[
                                    ("shared", "shared pool"),
                                    ("partition", "own partition"),
                                    ("dedicated", "own cluster"),
                                ],
                                default="shared",
                                max_length=12,
                            ),
                        ),
                        (
                            "service_tier",
                            models.CharField(
                                choices=[("standard", "standard"), ("priority", "priority")],
                                default="standard",
                                max_length=12,
                            ),
                        ),
                        ("cost_centre", models.CharField(blank=True, default="", max_length=64)),
                        ("billing_timezone", models.CharField(default="UTC", max_length=64)),
                        (
                            "currency",
                            models.CharField(
                                default="CNY",
                                max_length=3,
                                validators=[django.core.validators.RegexValidator("^[A-Z]{3}$")],
                            ),
                        ),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("active", "active"),
                                    ("budget-stopped", "stopped by budget"),
                                    ("closing", "closing"),
                                    ("closed", "closed"),
                                ],
                                default="active",
                                max_length=16,
                            ),
                        ),
                        ("created_at", models.DateTimeField()),
                        (
                            "cohort",
                            models.ForeignKey(
                                blank=True,
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.cohort",
                            ),
                        ),
                        (
                            "pgh_context",
                            models.ForeignKey(
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="pghistory.context",
                            ),
                        ),
                        (
                            "pgh_obj",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="events",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "abstract": False,
                    },
                ),
                migrations.CreateModel(
                    name="Volume",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("environment", models.CharField(max_length=4)),
                        ("name", models.CharField(max_length=63)),
                        ("size_gib", models.PositiveIntegerField()),
                        ("storage_class", models.CharField(blank=True, default="", max_length=63)),
                        ("exempt_from_reclaim", models.BooleanField(default=False)),
                        ("last_mounted_at", models.DateTimeField(blank=True, null=True)),
                        ("created_at", models.DateTimeField()),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="volumes", to="tenants.tenant"
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(fields=("tenant", "environment", "name"), name="volume_once")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Webhook",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("url", models.URLField(max_length=500)),
                        (
                            "events",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.CharField(max_length=60), default=list, size=None
                            ),
                        ),
                        ("secret_ref", models.CharField(blank=True, default="", max_length=200)),
                        ("enabled", models.BooleanField(default=True)),
                        ("created_at", models.DateTimeField()),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="webhooks",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Flavor",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=63, unique=True)),
                        ("card_model", models.CharField(blank=True, default="", max_length=63)),
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
                        ("mig_profile", models.CharField(blank=True, default="", max_length=20)),
                        ("resource_name", models.CharField(blank=True, default="nvidia.com/gpu", max_length=80)),
                        ("vram_mib", models.BigIntegerField(default=0)),
                        ("speed_ppm", models.BigIntegerField(default=1000000)),
                        ("weight_ppm", models.BigIntegerField(default=1000000)),
                        (
                            "pool",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="flavors", to="tenants.pool"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["name"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("speed_ppm__gt", 0), ("vram_mib__gte", 0), ("weight_ppm__gte", 0)),
                                name="flavor_amounts_in_range",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("mode", "mig"), models.Q(("mig_profile", ""), _negated=True)),
                                    models.Q(models.Q(("mode", "mig"), _negated=True), ("mig_profile", "")),
                                    _connector="OR",
                                ),
                                name="flavor_profile_iff_mig",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="MaintenanceWindow",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("during", django.contrib.postgres.fields.ranges.DateTimeRangeField()),
                        ("reason", models.CharField(blank=True, default="", max_length=200)),
                        (
                            "pool",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="maintenance_windows",
                                to="tenants.pool",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            django.contrib.postgres.constraints.ExclusionConstraint(
                                expressions=[("pool", "="), ("during", "&&")], name="maintenance_windows_apart"
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Queue",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "name",
                            models.CharField(
                                max_length=40,
                                validators=[
                                    django.core.validators.RegexValidator(
                                        "^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$",
                                        "Use 1–40 lower-case letters, digits and hyphens; start with a letter.",
                                    )
                                ],
                            ),
                        ),
                        (
                            "environment",
                            models.CharField(choices=[("prod", "prod"), ("dev", "dev")], default="dev", max_length=4),
                        ),
                        (
                            "default_tier",
                            models.CharField(
                                choices=[
                                    ("production", "production"),
                                    ("development", "development"),
                                    ("batch", "batch"),
                                ],
                                default="development",
                                max_length=12,
                            ),
                        ),
                        ("weight_ppm", models.BigIntegerField(default=1000000)),
                        ("effective_weight_ppm", models.BigIntegerField(default=1000000)),
                        ("loan_period_s", models.PositiveIntegerField(default=14400)),
                        ("strict_expiry", models.BooleanField(default=False)),
                        ("max_pool_share_ppm", models.BigIntegerField(blank=True, null=True)),
                        (
                            "state",
                            models.CharField(
                                choices=[("open", "open"), ("draining", "draining"), ("closed", "closed")],
                                default="open",
                                max_length=10,
                            ),
                        ),
                        (
                            "pool",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="queues", to="tenants.pool"
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="queues", to="tenants.tenant"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["tenant_id", "name"],
                        "constraints": [
                            models.UniqueConstraint(fields=("tenant", "name"), name="queue_once_a_tenant"),
                            models.CheckConstraint(
                                condition=models.Q(("weight_ppm__gte", 0), ("weight_ppm__lte", 1000000000)),
                                name="queue_weight_in_range",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("loan_period_s__gte", 60), ("loan_period_s__lte", 2592000)),
                                name="queue_loan_period_in_range",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("max_pool_share_ppm__isnull", True),
                                    models.Q(("max_pool_share_ppm__gt", 0), ("max_pool_share_ppm__lte", 1000000)),
                                    _connector="OR",
                                ),
                                name="queue_pool_share_in_range",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="PoolEvent",
                    fields=[
                        ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                        ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                        ("pgh_label", models.TextField(help_text="The event label.")),
                        ("id", models.BigIntegerField()),
                        ("name", models.CharField(max_length=63)),
                        (
                            "sharing",
                            models.CharField(
                                choices=[
                                    ("shared", "shared"),
                                    ("partition", "one tenant's partition"),
                                    ("dedicated", "one tenant's cluster"),
                                ],
                                default="shared",
                                max_length=12,
                            ),
                        ),
                        (
                            "factor_ppm",
                            models.BigIntegerField(
                                default=1000000,
                                validators=[
                                    django.core.validators.MinValueValidator(1000000),
                                    django.core.validators.MaxValueValidator(2000000),
                                ],
                            ),
                        ),
                        ("high_ppm", models.BigIntegerField(default=850000)),
                        ("low_ppm", models.BigIntegerField(default=750000)),
                        ("draining", models.BooleanField(default=False)),
                        ("cpu_per_card_m", models.BigIntegerField(blank=True, null=True)),
                        ("memory_per_card_mib", models.BigIntegerField(blank=True, null=True)),
                        ("cpu_headroom_m", models.BigIntegerField(default=0)),
                        ("priority_share_ppm", models.BigIntegerField(default=0)),
                        ("limit_ratio_ppm", models.BigIntegerField(default=2000000)),
                        (
                            "cluster",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.cluster",
                            ),
                        ),
                        (
                            "pgh_context",
                            models.ForeignKey(
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="pghistory.context",
                            ),
                        ),
                        (
                            "pgh_obj",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="events",
                                to="tenants.pool",
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                blank=True,
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "abstract": False,
                    },
                ),
                migrations.CreateModel(
                    name="MembershipEvent",
                    fields=[
                        ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                        ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                        ("pgh_label", models.TextField(help_text="The event label.")),
                        ("id", models.BigIntegerField()),
                        (
                            "role",
                            models.CharField(
                                choices=[("member", "member"), ("admin", "admin")], default="member", max_length=10
                            ),
                        ),
                        ("valid_from", models.DateTimeField()),
                        ("valid_to", models.DateTimeField(blank=True, null=True)),
                        (
                            "pgh_context",
                            models.ForeignKey(
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="pghistory.context",
                            ),
                        ),
                        (
                            "pgh_obj",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="events",
                                to="tenants.membership",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "abstract": False,
                    },
                ),
                migrations.CreateModel(
                    name="FlavorEvent",
                    fields=[
                        ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                        ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                        ("pgh_label", models.TextField(help_text="The event label.")),
                        ("id", models.BigIntegerField()),
                        ("name", models.CharField(max_length=63)),
                        ("card_model", models.CharField(blank=True, default="", max_length=63)),
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
                        ("mig_profile", models.CharField(blank=True, default="", max_length=20)),
                        ("resource_name", models.CharField(blank=True, default="nvidia.com/gpu", max_length=80)),
                        ("vram_mib", models.BigIntegerField(default=0)),
                        ("speed_ppm", models.BigIntegerField(default=1000000)),
                        ("weight_ppm", models.BigIntegerField(default=1000000)),
                        (
                            "pgh_context",
                            models.ForeignKey(
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="pghistory.context",
                            ),
                        ),
                        (
                            "pgh_obj",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="events",
                                to="tenants.flavor",
                            ),
                        ),
                        (
                            "pool",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.pool",
                            ),
                        ),
                    ],
                    options={
                        "abstract": False,
                    },
                ),
                migrations.CreateModel(
                    name="PoolCapacity",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("resource", models.CharField(max_length=10)),
                        ("amount", models.BigIntegerField()),
                        ("recorded_at", models.DateTimeField()),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to="tenants.flavor"
                            ),
                        ),
                        (
                            "pool",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="capacities",
                                to="tenants.pool",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("pool", "resource", "flavor"), name="pool_capacity_once", nulls_distinct=False
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("amount__gte", 0)), name="pool_capacity_not_negative"
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Quota",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "resource",
                            models.CharField(
                                choices=[
                                    ("gpu", "cards"),
                                    ("cpu", "CPU cores"),
                                    ("memory", "memory"),
                                    ("vram", "VRAM"),
                                    ("storage", "storage"),
                                    ("iops", "IOPS"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("nominal", models.BigIntegerField(default=0)),
                        ("borrowing_limit", models.BigIntegerField(blank=True, null=True)),
                        ("lending_limit", models.BigIntegerField(blank=True, null=True)),
                        (
                            "mode",
                            models.CharField(
                                choices=[("static", "static"), ("dynamic", "dynamic"), ("overcommit", "over-commit")],
                                default="static",
                                max_length=10,
                            ),
                        ),
                        ("valid_from", models.DateTimeField()),
                        ("valid_to", models.DateTimeField(blank=True, null=True)),
                        (
                            "cohort",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="quotas",
                                to="tenants.cohort",
                            ),
                        ),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="quotas",
                                to="tenants.flavor",
                            ),
                        ),
                        (
                            "queue",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="quotas",
                                to="tenants.queue",
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="quotas",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(
                                        ("cohort__isnull", False), ("queue__isnull", True), ("tenant__isnull", True)
                                    ),
                                    models.Q(
                                        ("cohort__isnull", True), ("queue__isnull", True), ("tenant__isnull", False)
                                    ),
                                    models.Q(
                                        ("cohort__isnull", True), ("queue__isnull", False), ("tenant__isnull", True)
                                    ),
                                    _connector="OR",
                                ),
                                name="quota_of_exactly_one_node",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("flavor__isnull", False), ("resource", "gpu")),
                                    models.Q(models.Q(("resource", "gpu"), _negated=True), ("flavor__isnull", True)),
                                    _connector="OR",
                                ),
                                name="quota_flavor_iff_cards",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("nominal__gte", 0),
                                    models.Q(
                                        ("borrowing_limit__isnull", True), ("borrowing_limit__gte", 0), _connector="OR"
                                    ),
                                    models.Q(
                                        ("lending_limit__isnull", True), ("lending_limit__gte", 0), _connector="OR"
                                    ),
                                ),
                                name="quota_amounts_not_negative",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("valid_to__isnull", True),
                                    ("valid_to__gt", models.F("valid_from")),
                                    _connector="OR",
                                ),
                                name="quota_ends_after_start",
                            ),
                            django.contrib.postgres.constraints.ExclusionConstraint(
                                expressions=[
                                    (django.db.models.functions.comparison.Coalesce("cohort", 0), "="),
                                    (django.db.models.functions.comparison.Coalesce("tenant", 0), "="),
                                    (django.db.models.functions.comparison.Coalesce("queue", 0), "="),
                                    ("resource", "="),
                                    (django.db.models.functions.comparison.Coalesce("flavor", 0), "="),
                                    (
                                        tenants.models.quota.TsTzRange(
                                            "valid_from",
                                            "valid_to",
                                            django.contrib.postgres.fields.ranges.RangeBoundary(),
                                        ),
                                        "&&",
                                    ),
                                ],
                                name="quota_one_line_at_a_time",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="QuotaRequest",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "resource",
                            models.CharField(
                                choices=[
                                    ("gpu", "cards"),
                                    ("cpu", "CPU cores"),
                                    ("memory", "memory"),
                                    ("vram", "VRAM"),
                                    ("storage", "storage"),
                                    ("iops", "IOPS"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("amount", models.BigIntegerField()),
                        ("until", models.DateTimeField(blank=True, null=True)),
                        ("reason", models.CharField(max_length=1000)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("waiting", "waiting"),
                                    ("approved", "approved"),
                                    ("rejected", "rejected"),
                                    ("withdrawn", "withdrawn"),
                                ],
                                default="waiting",
                                max_length=10,
                            ),
                        ),
                        ("asked_at", models.DateTimeField()),
                        ("decided_at", models.DateTimeField(null=True)),
                        ("answer", models.CharField(blank=True, default="", max_length=1000)),
                        (
                            "asked_by",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "decided_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to="tenants.flavor"
                            ),
                        ),
                        (
                            "queue",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="quota_requests",
                                to="tenants.queue",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("amount__gt", 0)), name="quota_request_amount_positive"
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="QuotaTransfer",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "resource",
                            models.CharField(
                                choices=[
                                    ("gpu", "cards"),
                                    ("cpu", "CPU cores"),
                                    ("memory", "memory"),
                                    ("vram", "VRAM"),
                                    ("storage", "storage"),
                                    ("iops", "IOPS"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("amount", models.BigIntegerField()),
                        ("valid_from", models.DateTimeField()),
                        ("valid_to", models.DateTimeField()),
                        ("reason", models.CharField(blank=True, default="", max_length=500)),
                        (
                            "agreed_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to="tenants.flavor"
                            ),
                        ),
                        (
                            "giver",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="transfers_out",
                                to="tenants.queue",
                            ),
                        ),
                        (
                            "receiver",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="transfers_in",
                                to="tenants.queue",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("amount__gt", 0)), name="transfer_amount_positive"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("valid_to__gt", models.F("valid_from"))),
                                name="transfer_ends_after_start",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("giver", models.F("receiver")), _negated=True),
                                name="transfer_between_two_queues",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="QueueEvent",
                    fields=[
                        ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                        ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                        ("pgh_label", models.TextField(help_text="The event label.")),
                        ("id", models.BigIntegerField()),
                        (
                            "name",
                            models.CharField(
                                max_length=40,
                                validators=[
                                    django.core.validators.RegexValidator(
                                        "^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$",
                                        "Use 1–40 lower-case letters, digits and hyphens; start with a letter.",
                                    )
                                ],
                            ),
                        ),
                        (
                            "environment",
                            models.CharField(choices=[("prod", "prod"), ("dev", "dev")], default="dev", max_length=4),
                        ),
                        (
                            "default_tier",
                            models.CharField(
                                choices=[
                                    ("production", "production"),
                                    ("development", "development"),
                                    ("batch", "batch"),
                                ],
                                default="development",
                                max_length=12,
                            ),
                        ),
                        ("weight_ppm", models.BigIntegerField(default=1000000)),
                        ("effective_weight_ppm", models.BigIntegerField(default=1000000)),
                        ("loan_period_s", models.PositiveIntegerField(default=14400)),
                        ("strict_expiry", models.BooleanField(default=False)),
                        ("max_pool_share_ppm", models.BigIntegerField(blank=True, null=True)),
                        (
                            "state",
                            models.CharField(
                                choices=[("open", "open"), ("draining", "draining"), ("closed", "closed")],
                                default="open",
                                max_length=10,
                            ),
                        ),
                        (
                            "pgh_context",
                            models.ForeignKey(
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="pghistory.context",
                            ),
                        ),
                        (
                            "pgh_obj",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="events",
                                to="tenants.queue",
                            ),
                        ),
                        (
                            "pool",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.pool",
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "abstract": False,
                    },
                ),
                migrations.CreateModel(
                    name="BudgetGate",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("currency", models.CharField(max_length=3)),
                        ("limit_amount", models.DecimalField(blank=True, decimal_places=6, max_digits=20, null=True)),
                        ("spent", models.DecimalField(decimal_places=6, default=0, max_digits=20)),
                        ("reserved", models.DecimalField(decimal_places=6, default=0, max_digits=20)),
                        ("hard_stop", models.BooleanField(default=False)),
                        (
                            "project",
                            models.ForeignKey(
                                blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to="tenants.project"
                            ),
                        ),
                        (
                            "queue",
                            models.ForeignKey(
                                blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to="tenants.queue"
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="budget_gates",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("tenant", "queue", "project"), name="budget_gate_once", nulls_distinct=False
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("reserved__gte", 0)), name="budget_reserved_not_negative"
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="QuotaRequestEvent",
                    fields=[
                        ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                        ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                        ("pgh_label", models.TextField(help_text="The event label.")),
                        ("id", models.BigIntegerField()),
                        (
                            "resource",
                            models.CharField(
                                choices=[
                                    ("gpu", "cards"),
                                    ("cpu", "CPU cores"),
                                    ("memory", "memory"),
                                    ("vram", "VRAM"),
                                    ("storage", "storage"),
                                    ("iops", "IOPS"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("amount", models.BigIntegerField()),
                        ("until", models.DateTimeField(blank=True, null=True)),
                        ("reason", models.CharField(max_length=1000)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("waiting", "waiting"),
                                    ("approved", "approved"),
                                    ("rejected", "rejected"),
                                    ("withdrawn", "withdrawn"),
                                ],
                                default="waiting",
                                max_length=10,
                            ),
                        ),
                        ("asked_at", models.DateTimeField()),
                        ("decided_at", models.DateTimeField(null=True)),
                        ("answer", models.CharField(blank=True, default="", max_length=1000)),
                        (
                            "asked_by",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "decided_by",
                            models.ForeignKey(
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True,
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.flavor",
                            ),
                        ),
                        (
                            "pgh_context",
                            models.ForeignKey(
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="pghistory.context",
                            ),
                        ),
                        (
                            "pgh_obj",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="events",
                                to="tenants.quotarequest",
                            ),
                        ),
                        (
                            "queue",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.queue",
                            ),
                        ),
                    ],
                    options={
                        "abstract": False,
                    },
                ),
                migrations.CreateModel(
                    name="QuotaTransferEvent",
                    fields=[
                        ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                        ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                        ("pgh_label", models.TextField(help_text="The event label.")),
                        ("id", models.BigIntegerField()),
                        (
                            "resource",
                            models.CharField(
                                choices=[
                                    ("gpu", "cards"),
                                    ("cpu", "CPU cores"),
                                    ("memory", "memory"),
                                    ("vram", "VRAM"),
                                    ("storage", "storage"),
                                    ("iops", "IOPS"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("amount", models.BigIntegerField()),
                        ("valid_from", models.DateTimeField()),
                        ("valid_to", models.DateTimeField()),
                        ("reason", models.CharField(blank=True, default="", max_length=500)),
                        (
                            "agreed_by",
                            models.ForeignKey(
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True,
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.flavor",
                            ),
                        ),
                        (
                            "giver",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.queue",
                            ),
                        ),
                        (
                            "pgh_context",
                            models.ForeignKey(
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="pghistory.context",
                            ),
                        ),
                        (
                            "pgh_obj",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="events",
                                to="tenants.quotatransfer",
                            ),
                        ),
                        (
                            "receiver",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.queue",
                            ),
                        ),
                    ],
                    options={
                        "abstract": False,
                    },
                ),
                migrations.CreateModel(
                    name="QuotaEvent",
                    fields=[
                        ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                        ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                        ("pgh_label", models.TextField(help_text="The event label.")),
                        ("id", models.BigIntegerField()),
                        (
                            "resource",
                            models.CharField(
                                choices=[
                                    ("gpu", "cards"),
                                    ("cpu", "CPU cores"),
                                    ("memory", "memory"),
                                    ("vram", "VRAM"),
                                    ("storage", "storage"),
                                    ("iops", "IOPS"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("nominal", models.BigIntegerField(default=0)),
                        ("borrowing_limit", models.BigIntegerField(blank=True, null=True)),
                        ("lending_limit", models.BigIntegerField(blank=True, null=True)),
                        (
                            "mode",
                            models.CharField(
                                choices=[("static", "static"), ("dynamic", "dynamic"), ("overcommit", "over-commit")],
                                default="static",
                                max_length=10,
                            ),
                        ),
                        ("valid_from", models.DateTimeField()),
                        ("valid_to", models.DateTimeField(blank=True, null=True)),
                        (
                            "cohort",
                            models.ForeignKey(
                                blank=True,
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.cohort",
                            ),
                        ),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True,
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.flavor",
                            ),
                        ),
                        (
                            "pgh_context",
                            models.ForeignKey(
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="pghistory.context",
                            ),
                        ),
                        (
                            "pgh_obj",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="events",
                                to="tenants.quota",
                            ),
                        ),
                        (
                            "queue",
                            models.ForeignKey(
                                blank=True,
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.queue",
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                blank=True,
                                db_constraint=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "abstract": False,
                    },
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="cohort",
                    trigger=pgtrigger.compiler.Trigger(
                        name="insert_insert",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func='INSERT INTO "tenants_cohortevent" ("id", "name", "parent_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "weight_ppm") VALUES (NEW."id", NEW."name", NEW."parent_id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."weight_ppm"); RETURN NULL;',
                            hash="47dd0a579749c18ef01c727b739bd452d26b6eb7",
                            operation="INSERT",
                            pgid="pgtrigger_insert_insert_d397a",
                            table="tenants_cohort",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="cohort",
                    trigger=pgtrigger.compiler.Trigger(
                        name="update_update",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                            func='INSERT INTO "tenants_cohortevent" ("id", "name", "parent_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "weight_ppm") VALUES (NEW."id", NEW."name", NEW."parent_id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."weight_ppm"); RETURN NULL;',
                            hash="7ccea596b8c878b0c77bbc4c2ed69a601adb8aeb",
                            operation="UPDATE",
                            pgid="pgtrigger_update_update_3c951",
                            table="tenants_cohort",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="flavor",
                    trigger=pgtrigger.compiler.Trigger(
                        name="insert_insert",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func='INSERT INTO "tenants_flavorevent" ("card_model", "id", "mig_profile", "mode", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pool_id", "resource_name", "speed_ppm", "vram_mib", "weight_ppm") VALUES (NEW."card_model", NEW."id", NEW."mig_profile", NEW."mode", NEW."name", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."pool_id", NEW."resource_name", NEW."speed_ppm", NEW."vram_mib", NEW."weight_ppm"); RETURN NULL;',
                            hash="d3acfd019806a6350ac294eeb278281daf05992c",
                            operation="INSERT",
                            pgid="pgtrigger_insert_insert_82b89",
                            table="tenants_flavor",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="flavor",
                    trigger=pgtrigger.compiler.Trigger(
                        name="update_update",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                            func='INSERT INTO "tenants_flavorevent" ("card_model", "id", "mig_profile", "mode", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pool_id", "resource_name", "speed_ppm", "vram_mib", "weight_ppm") VALUES (NEW."card_model", NEW."id", NEW."mig_profile", NEW."mode", NEW."name", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."pool_id", NEW."resource_name", NEW."speed_ppm", NEW."vram_mib", NEW."weight_ppm"); RETURN NULL;',
                            hash="e2969362613304bae63ed24a4503c2c3a2dda977",
                            operation="UPDATE",
                            pgid="pgtrigger_update_update_41eb4",
                            table="tenants_flavor",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="quotarequest",
                    trigger=pgtrigger.compiler.Trigger(
                        name="insert_insert",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func='INSERT INTO "tenants_quotarequestevent" ("amount", "answer", "asked_at", "asked_by_id", "decided_at", "decided_by_id", "flavor_id", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "queue_id", "reason", "resource", "state", "until") VALUES (NEW."amount", NEW."answer", NEW."asked_at", NEW."asked_by_id", NEW."decided_at", NEW."decided_by_id", NEW."flavor_id", NEW."id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."queue_id", NEW."reason", NEW."resource", NEW."state", NEW."until"); RETURN NULL;',
                            hash="75a3a6926d74ea54d8a649cfd84f88d4583d63ba",
                            operation="INSERT",
                            pgid="pgtrigger_insert_insert_aa5dd",
                            table="tenants_quotarequest",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="quotarequest",
                    trigger=pgtrigger.compiler.Trigger(
                        name="update_update",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                            func='INSERT INTO "tenants_quotarequestevent" ("amount", "answer", "asked_at", "asked_by_id", "decided_at", "decided_by_id", "flavor_id", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "queue_id", "reason", "resource", "state", "until") VALUES (NEW."amount", NEW."answer", NEW."asked_at", NEW."asked_by_id", NEW."decided_at", NEW."decided_by_id", NEW."flavor_id", NEW."id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."queue_id", NEW."reason", NEW."resource", NEW."state", NEW."until"); RETURN NULL;',
                            hash="946925a9ae6c9992a07a84fffae31866ff7c0cc8",
                            operation="UPDATE",
                            pgid="pgtrigger_update_update_12d46",
                            table="tenants_quotarequest",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="quotatransfer",
                    trigger=pgtrigger.compiler.Trigger(
                        name="insert_insert",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func='INSERT INTO "tenants_quotatransferevent" ("agreed_by_id", "amount", "flavor_id", "giver_id", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "receiver_id", "resource", "valid_from", "valid_to") VALUES (NEW."agreed_by_id", NEW."amount", NEW."flavor_id", NEW."giver_id", NEW."id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."reason", NEW."receiver_id", NEW."resource", NEW."valid_from", NEW."valid_to"); RETURN NULL;',
                            hash="cca79b48626d66b58f44c60e6ecd5d1b4d285140",
                            operation="INSERT",
                            pgid="pgtrigger_insert_insert_c4e6b",
                            table="tenants_quotatransfer",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="quotatransfer",
                    trigger=pgtrigger.compiler.Trigger(
                        name="update_update",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                            func='INSERT INTO "tenants_quotatransferevent" ("agreed_by_id", "amount", "flavor_id", "giver_id", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "receiver_id", "resource", "valid_from", "valid_to") VALUES (NEW."agreed_by_id", NEW."amount", NEW."flavor_id", NEW."giver_id", NEW."id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."reason", NEW."receiver_id", NEW."resource", NEW."valid_from", NEW."valid_to"); RETURN NULL;',
                            hash="f01827f451c44bab479ccf5577e831a740c4d5b4",
                            operation="UPDATE",
                            pgid="pgtrigger_update_update_33a4a",
                            table="tenants_quotatransfer",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="tenant",
                    trigger=pgtrigger.compiler.Trigger(
                        name="insert_insert",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func='INSERT INTO "tenants_tenantevent" ("billing_timezone", "cohort_id", "cost_centre", "created_at", "currency", "id", "isolation", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "service_tier", "slug", "state", "weight_ppm") VALUES (NEW."billing_timezone", NEW."cohort_id", NEW."cost_centre", NEW."created_at", NEW."currency", NEW."id", NEW."isolation", NEW."name", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."service_tier", NEW."slug", NEW."state", NEW."weight_ppm"); RETURN NULL;',
                            hash="dae52b72b535c5e423486ae5206e97baa25f5bf2",
                            operation="INSERT",
                            pgid="pgtrigger_insert_insert_0f00f",
                            table="tenants_tenant",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="tenant",
                    trigger=pgtrigger.compiler.Trigger(
                        name="update_update",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                            func='INSERT INTO "tenants_tenantevent" ("billing_timezone", "cohort_id", "cost_centre", "created_at", "currency", "id", "isolation", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "service_tier", "slug", "state", "weight_ppm") VALUES (NEW."billing_timezone", NEW."cohort_id", NEW."cost_centre", NEW."created_at", NEW."currency", NEW."id", NEW."isolation", NEW."name", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."service_tier", NEW."slug", NEW."state", NEW."weight_ppm"); RETURN NULL;',
                            hash="085d7c9102b66e4aadc0459d0abac1214c3d1094",
                            operation="UPDATE",
                            pgid="pgtrigger_update_update_8ddba",
                            table="tenants_tenant",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="quota",
                    trigger=pgtrigger.compiler.Trigger(
                        name="insert_insert",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func='INSERT INTO "tenants_quotaevent" ("borrowing_limit", "cohort_id", "flavor_id", "id", "lending_limit", "mode", "nominal", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "queue_id", "resource", "tenant_id", "valid_from", "valid_to") VALUES (NEW."borrowing_limit", NEW."cohort_id", NEW."flavor_id", NEW."id", NEW."lending_limit", NEW."mode", NEW."nominal", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."queue_id", NEW."resource", NEW."tenant_id", NEW."valid_from", NEW."valid_to"); RETURN NULL;',
                            hash="b9610a9a4273a1fc9c8231a82cd7d3d348c3facf",
                            operation="INSERT",
                            pgid="pgtrigger_insert_insert_e8792",
                            table="tenants_quota",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="quota",
                    trigger=pgtrigger.compiler.Trigger(
                        name="update_update",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                            func='INSERT INTO "tenants_quotaevent" ("borrowing_limit", "cohort_id", "flavor_id", "id", "lending_limit", "mode", "nominal", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "queue_id", "resource", "tenant_id", "valid_from", "valid_to") VALUES (NEW."borrowing_limit", NEW."cohort_id", NEW."flavor_id", NEW."id", NEW."lending_limit", NEW."mode", NEW."nominal", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."queue_id", NEW."resource", NEW."tenant_id", NEW."valid_from", NEW."valid_to"); RETURN NULL;',
                            hash="c0e6f149e214199369c8fda4f5a06a9d8da9c091",
                            operation="UPDATE",
                            pgid="pgtrigger_update_update_8c954",
                            table="tenants_quota",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="queue",
                    trigger=pgtrigger.compiler.Trigger(
                        name="insert_insert",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func='INSERT INTO "tenants_queueevent" ("default_tier", "effective_weight_ppm", "environment", "id", "loan_period_s", "max_pool_share_ppm", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pool_id", "state", "strict_expiry", "tenant_id", "weight_ppm") VALUES (NEW."default_tier", NEW."effective_weight_ppm", NEW."environment", NEW."id", NEW."loan_period_s", NEW."max_pool_share_ppm", NEW."name", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."pool_id", NEW."state", NEW."strict_expiry", NEW."tenant_id", NEW."weight_ppm"); RETURN NULL;',
                            hash="6e0f34cde1c4106b079b5b6cc293bed57e0a6fac",
                            operation="INSERT",
                            pgid="pgtrigger_insert_insert_056d9",
                            table="tenants_queue",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="queue",
                    trigger=pgtrigger.compiler.Trigger(
                        name="update_update",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                            func='INSERT INTO "tenants_queueevent" ("default_tier", "effective_weight_ppm", "environment", "id", "loan_period_s", "max_pool_share_ppm", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pool_id", "state", "strict_expiry", "tenant_id", "weight_ppm") VALUES (NEW."default_tier", NEW."effective_weight_ppm", NEW."environment", NEW."id", NEW."loan_period_s", NEW."max_pool_share_ppm", NEW."name", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."pool_id", NEW."state", NEW."strict_expiry", NEW."tenant_id", NEW."weight_ppm"); RETURN NULL;',
                            hash="9c4e7f5f1a9f35153c91807ea671df17c441a693",
                            operation="UPDATE",
                            pgid="pgtrigger_update_update_eb3b9",
                            table="tenants_queue",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="pool",
                    trigger=pgtrigger.compiler.Trigger(
                        name="insert_insert",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func='INSERT INTO "tenants_poolevent" ("cluster_id", "cpu_headroom_m", "cpu_per_card_m", "draining", "factor_ppm", "high_ppm", "id", "limit_ratio_ppm", "low_ppm", "memory_per_card_mib", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "priority_share_ppm", "sharing", "tenant_id") VALUES (NEW."cluster_id", NEW."cpu_headroom_m", NEW."cpu_per_card_m", NEW."draining", NEW."factor_ppm", NEW."high_ppm", NEW."id", NEW."limit_ratio_ppm", NEW."low_ppm", NEW."memory_per_card_mib", NEW."name", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."priority_share_ppm", NEW."sharing", NEW."tenant_id"); RETURN NULL;',
                            hash="85f8bb7ba62879dd549eb90e70572cd30d7de56c",
                            operation="INSERT",
                            pgid="pgtrigger_insert_insert_acf5e",
                            table="tenants_pool",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="pool",
                    trigger=pgtrigger.compiler.Trigger(
                        name="update_update",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                            func='INSERT INTO "tenants_poolevent" ("cluster_id", "cpu_headroom_m", "cpu_per_card_m", "draining", "factor_ppm", "high_ppm", "id", "limit_ratio_ppm", "low_ppm", "memory_per_card_mib", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "priority_share_ppm", "sharing", "tenant_id") VALUES (NEW."cluster_id", NEW."cpu_headroom_m", NEW."cpu_per_card_m", NEW."draining", NEW."factor_ppm", NEW."high_ppm", NEW."id", NEW."limit_ratio_ppm", NEW."low_ppm", NEW."memory_per_card_mib", NEW."name", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."priority_share_ppm", NEW."sharing", NEW."tenant_id"); RETURN NULL;',
                            hash="190a8e5187135b99c6b9de90c442f66760a7858c",
                            operation="UPDATE",
                            pgid="pgtrigger_update_update_e9767",
                            table="tenants_pool",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="membership",
                    trigger=pgtrigger.compiler.Trigger(
                        name="insert_insert",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func='INSERT INTO "tenants_membershipevent" ("id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "role", "tenant_id", "user_id", "valid_from", "valid_to") VALUES (NEW."id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."role", NEW."tenant_id", NEW."user_id", NEW."valid_from", NEW."valid_to"); RETURN NULL;',
                            hash="3f44e12911363eb793143755bce1d22f82eb03ba",
                            operation="INSERT",
                            pgid="pgtrigger_insert_insert_65f0e",
                            table="tenants_membership",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="membership",
                    trigger=pgtrigger.compiler.Trigger(
                        name="update_update",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                            func='INSERT INTO "tenants_membershipevent" ("id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "role", "tenant_id", "user_id", "valid_from", "valid_to") VALUES (NEW."id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."role", NEW."tenant_id", NEW."user_id", NEW."valid_from", NEW."valid_to"); RETURN NULL;',
                            hash="4c879b5582e065cc9a495da3141e603b3fcbce7e",
                            operation="UPDATE",
                            pgid="pgtrigger_update_update_38ec7",
                            table="tenants_membership",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="auditevent",
                    trigger=pgtrigger.compiler.Trigger(
                        name="audit_is_append_only",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                            hash="e998a057f0cb02adf44b959534434d3566502e27",
                            operation="UPDATE OR DELETE",
                            pgid="pgtrigger_audit_is_append_only_460a3",
                            table="tenants_auditevent",
                            when="BEFORE",
                        ),
                    ),
                ),
            ],
        ),
    ]
