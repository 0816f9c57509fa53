import django.contrib.postgres.constraints
import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.comparison
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models

import berth.common.together
import billing.models.budget
import billing.models.ledger
import tenants.models.quota


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("pghistory", "0007_auto_20250421_0444"),
        ("scheduling", "0005_image_rules"),
        ("tenants", "0001_initial"),
        ("tenants", "__first__"),
    ]

    operations = [
        berth.common.together.Together(
            operations=[
                migrations.CreateModel(
                    name="StatementCounter",
                    fields=[
                        ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                        ("last", models.PositiveBigIntegerField(default=0)),
                    ],
                    options={
                        "constraints": [
                            models.CheckConstraint(condition=models.Q(("id", 1)), name="statement_counter_is_one_row")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="BillingPeriod",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("label", models.CharField(max_length=7)),
                        ("starts_at", models.DateTimeField()),
                        ("ends_at", models.DateTimeField()),
                        ("timezone", models.CharField(max_length=64)),
                        (
                            "state",
                            models.CharField(
                                choices=[("open", "open"), ("closed", "closed")], default="open", max_length=6
                            ),
                        ),
                        ("closed_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "closed_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="billing_periods",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["tenant_id", "starts_at"],
                        "constraints": [
                            models.UniqueConstraint(fields=("tenant", "label"), name="period_once_a_month"),
                            models.CheckConstraint(
                                condition=models.Q(("ends_at__gt", models.F("starts_at"))),
                                name="period_ends_after_start",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("closed_at__isnull", True), ("state", "open")),
                                    models.Q(("closed_at__isnull", False), ("state", "closed")),
                                    _connector="OR",
                                ),
                                name="period_closed_has_an_instant",
                            ),
                            django.contrib.postgres.constraints.ExclusionConstraint(
                                expressions=[
                                    ("tenant", "="),
                                    (
                                        tenants.models.quota.TsTzRange(
                                            "starts_at",
                                            "ends_at",
                                            django.contrib.postgres.fields.ranges.RangeBoundary(),
                                        ),
                                        "&&",
                                    ),
                                ],
                                name="period_overlaps_none",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Budget",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("amount", models.DecimalField(decimal_places=6, max_digits=20)),
                        ("currency", models.CharField(max_length=3)),
                        (
                            "alert_percent",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.PositiveSmallIntegerField(),
                                default=billing.models.budget.default_alerts,
                                size=None,
                            ),
                        ),
                        ("hard_stop", models.BooleanField(default=False)),
                        ("created_at", models.DateTimeField()),
                        ("ended_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "project",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="budgets",
                                to="tenants.project",
                            ),
                        ),
                        (
                            "queue",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="budgets",
                                to="tenants.queue",
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="budgets", to="tenants.tenant"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("ended_at__isnull", True)),
                                fields=("tenant", "queue", "project"),
                                name="budget_one_in_force",
                                nulls_distinct=False,
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("amount__gte", 0)), name="budget_amount_not_negative"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("queue__isnull", True), ("project__isnull", True), _connector="OR"),
                                name="budget_of_one_thing",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="IdleAssessment",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("starts_at", models.DateTimeField()),
                        ("ends_at", models.DateTimeField()),
                        ("granted_u7000_s", models.DecimalField(decimal_places=0, max_digits=30)),
                        ("busy_u7000_s", models.DecimalField(decimal_places=0, max_digits=30)),
                        ("lent_u7000_s", models.DecimalField(decimal_places=0, max_digits=30)),
                        ("coverage_ppm", models.BigIntegerField()),
                        ("granted", models.BigIntegerField()),
                        ("proposed", models.BigIntegerField()),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("dry-run", "dry run"),
                                    ("proposed", "proposed"),
                                    ("confirmed", "confirmed"),
                                    ("appealed", "appealed"),
                                    ("withdrawn", "withdrawn"),
                                ],
                                default="dry-run",
                                max_length=10,
                            ),
                        ),
                        ("created_at", models.DateTimeField()),
                        ("decided_at", models.DateTimeField(blank=True, null=True)),
                        ("appeal", models.CharField(blank=True, default="", max_length=1000)),
                        (
                            "decided_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "flavor",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.flavor"
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="idle_assessments",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("ends_at__gt", models.F("starts_at"))),
                                name="assessment_ends_after_start",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("coverage_ppm__gte", 0), ("coverage_ppm__lte", 1000000)),
                                name="assessment_coverage_is_a_share",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("granted__gte", 0), ("proposed__gte", 0)),
                                name="assessment_quota_not_negative",
                            ),
                            django.contrib.postgres.constraints.ExclusionConstraint(
                                condition=models.Q(("state", "withdrawn"), _negated=True),
                                expressions=[
                                    ("tenant", "="),
                                    ("flavor", "="),
                                    (
                                        tenants.models.quota.TsTzRange(
                                            "starts_at",
                                            "ends_at",
                                            django.contrib.postgres.fields.ranges.RangeBoundary(),
                                        ),
                                        "&&",
                                    ),
                                ],
                                name="assessment_once_a_quarter",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="PriceBook",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=63, unique=True)),
                        ("currency", models.CharField(max_length=3)),
                        ("note", models.CharField(blank=True, default="", max_length=500)),
                        ("created_at", models.DateTimeField()),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("currency__regex", "^[A-Z]{3}$")),
                                name="price_book_currency_is_iso_4217",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="PriceBookEvent",
                    fields=[
                        ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                        ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                        ("pgh_label", models.TextField(help_text="The event label.")),
                        ("id", models.BigIntegerField()),
                        ("name", models.CharField(max_length=63)),
                        ("currency", models.CharField(max_length=3)),
                        ("note", models.CharField(blank=True, default="", max_length=500)),
                        ("created_at", models.DateTimeField()),
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
                                to="billing.pricebook",
                            ),
                        ),
                    ],
                    options={
                        "abstract": False,
                    },
                ),
                migrations.CreateModel(
                    name="Rate",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "meter",
                            models.CharField(
                                choices=[
                                    ("card_hour", "card-hour"),
                                    ("borrowed_card_hour", "borrowed card-hour"),
                                    ("cpu_core_hour", "CPU core-hour"),
                                    ("memory_gib_hour", "memory GiB-hour"),
                                    ("storage_gb_month", "storage GB-month"),
                                    ("egress_gb", "egress GB"),
                                ],
                                max_length=20,
                            ),
                        ),
                        (
                            "price",
                            models.DecimalField(
                                decimal_places=6,
                                max_digits=18,
                                validators=[django.core.validators.MinValueValidator(0)],
                            ),
                        ),
                        ("currency", models.CharField(max_length=3)),
                        ("valid_from", models.DateTimeField()),
                        ("valid_to", models.DateTimeField(blank=True, null=True)),
                        ("created_at", models.DateTimeField()),
                        (
                            "flavor",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="rates",
                                to="tenants.flavor",
                            ),
                        ),
                        (
                            "price_book",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="rates",
                                to="billing.pricebook",
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="rates",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("price__gte", 0)), name="rate_price_not_negative"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "meter__in",
                                        [
                                            "card_hour",
                                            "borrowed_card_hour",
                                            "cpu_core_hour",
                                            "memory_gib_hour",
                                            "storage_gb_month",
                                            "egress_gb",
                                        ],
                                    )
                                ),
                                name="rate_meter_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("valid_to__isnull", True),
                                    ("valid_to__gte", models.F("valid_from")),
                                    _connector="OR",
                                ),
                                name="rate_ends_after_start",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("meter__in", ["card_hour", "borrowed_card_hour"]), _negated=True),
                                    ("flavor__isnull", False),
                                    _connector="OR",
                                ),
                                name="rate_of_cards_names_a_flavor",
                            ),
                            django.contrib.postgres.constraints.ExclusionConstraint(
                                expressions=[
                                    ("currency", "="),
                                    ("meter", "="),
                                    (django.db.models.functions.comparison.Coalesce("flavor", 0), "="),
                                    (django.db.models.functions.comparison.Coalesce("tenant", 0), "="),
                                    (
                                        tenants.models.quota.TsTzRange(
                                            "valid_from",
                                            "valid_to",
                                            django.contrib.postgres.fields.ranges.RangeBoundary(),
                                        ),
                                        "&&",
                                    ),
                                ],
                                name="rate_one_price_at_an_instant",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Statement",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("number", models.CharField(max_length=80, unique=True)),
                        ("version", models.PositiveIntegerField(default=1)),
                        (
                            "state",
                            models.CharField(
                                choices=[("draft", "draft"), ("issued", "issued")], default="draft", max_length=6
                            ),
                        ),
                        ("currency", models.CharField(max_length=3)),
                        ("total", models.DecimalField(decimal_places=6, default=0, max_digits=20)),
                        ("tenant_slug", models.CharField(max_length=40)),
                        ("tenant_name", models.CharField(max_length=120)),
                        ("cost_centre", models.CharField(blank=True, default="", max_length=64)),
                        ("billed_to", models.DateTimeField()),
                        ("created_at", models.DateTimeField()),
                        ("refreshed_at", models.DateTimeField()),
                        ("entries_to", models.BigIntegerField(default=0)),
                        ("adjustments_to", models.BigIntegerField(default=0)),
                        ("superseded_at", models.DateTimeField(null=True)),
                        ("issued_at", models.DateTimeField(null=True)),
                        ("unpriced", models.CharField(blank=True, default="", max_length=200)),
                        (
                            "period",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="statements",
                                to="billing.billingperiod",
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="statements",
                                to="tenants.tenant",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("period", "version"), name="statement_version_once"),
                            models.UniqueConstraint(
                                condition=models.Q(("superseded_at__isnull", True)),
                                fields=("period",),
                                name="statement_one_current_a_period",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("issued_at__isnull", True), ("state", "draft")),
                                    models.Q(
                                        ("issued_at__isnull", False),
                                        ("state", "issued"),
                                        ("superseded_at__isnull", True),
                                        ("unpriced", ""),
                                    ),
                                    _connector="OR",
                                ),
                                name="statement_issued_is_whole",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="LedgerEntry",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("key", models.CharField(max_length=120, unique=True)),
                        (
                            "held_as",
                            models.CharField(
                                choices=[
                                    ("billable", "billable"),
                                    ("grace", "grace after an eviction notice"),
                                    ("fault", "platform fault"),
                                    ("after-last-sign", "after the node's last sign of life"),
                                    ("set-aside", "on the tenant's own nodes, which are charged whole"),
                                ],
                                max_length=16,
                            ),
                        ),
                        ("starts_at", models.DateTimeField()),
                        ("ends_at", models.DateTimeField()),
                        ("seconds", models.BigIntegerField()),
                        ("day", models.DateField()),
                        ("cards_u7000", models.BigIntegerField(default=0)),
                        ("cpu_m", models.BigIntegerField(default=0)),
                        ("memory_mib", models.BigIntegerField(default=0)),
                        ("borrowed", models.BooleanField(default=False)),
                        ("tier", models.CharField(blank=True, default="", max_length=12)),
                        ("kind", models.CharField(blank=True, default="", max_length=12)),
                        ("labels", models.JSONField(default=dict)),
                        ("recorded_at", models.DateTimeField()),
                        (
                            "flavor",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="tenants.flavor",
                            ),
                        ),
                        (
                            "job",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="scheduling.job",
                            ),
                        ),
                        (
                            "node_interval",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="scheduling.nodeinterval",
                            ),
                        ),
                        (
                            "period",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="entries",
                                to="billing.billingperiod",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="tenants.project",
                            ),
                        ),
                        (
                            "queue",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="tenants.queue",
                            ),
                        ),
                        (
                            "refers_to",
                            models.OneToOneField(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="taken_back_by",
                                to="billing.ledgerentry",
                            ),
                        ),
                        (
                            "run",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="scheduling.run",
                            ),
                        ),
                        (
                            "segment",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="scheduling.leasesegment",
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="tenants.tenant",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "verbose_name_plural": "ledger entries",
                        "ordering": ["id"],
                        "indexes": [
                            models.Index(fields=["period", "id"], name="ledger_by_period"),
                            models.Index(fields=["job", "id"], name="ledger_by_job"),
                            models.Index(fields=["tenant", "day"], name="ledger_by_tenant_and_day"),
                        ],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("seconds__gt", 0)), name="ledger_entry_is_never_empty"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "seconds",
                                        billing.models.ledger.ElapsedSeconds(
                                            models.F("ends_at"), models.F("starts_at")
                                        ),
                                    )
                                ),
                                name="ledger_seconds_are_elapsed",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(
                                        ("cards_u7000__gte", 0),
                                        ("cpu_m__gte", 0),
                                        ("memory_mib__gte", 0),
                                        ("refers_to__isnull", True),
                                    ),
                                    models.Q(
                                        ("cards_u7000__lte", 0),
                                        ("cpu_m__lte", 0),
                                        ("memory_mib__lte", 0),
                                        ("refers_to__isnull", False),
                                    ),
                                    _connector="OR",
                                ),
                                name="ledger_only_takes_back_what_it_names",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(
                                        ("job__isnull", False),
                                        ("node_interval__isnull", True),
                                        ("segment__isnull", False),
                                    ),
                                    models.Q(
                                        ("job__isnull", True),
                                        ("node_interval__isnull", False),
                                        ("segment__isnull", True),
                                    ),
                                    _connector="OR",
                                ),
                                name="ledger_entry_has_one_source",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="RateEvent",
                    fields=[
                        ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                        ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                        ("pgh_label", models.TextField(help_text="The event label.")),
                        ("id", models.BigIntegerField()),
                        (
                            "meter",
                            models.CharField(
                                choices=[
                                    ("card_hour", "card-hour"),
                                    ("borrowed_card_hour", "borrowed card-hour"),
                                    ("cpu_core_hour", "CPU core-hour"),
                                    ("memory_gib_hour", "memory GiB-hour"),
                                    ("storage_gb_month", "storage GB-month"),
                                    ("egress_gb", "egress GB"),
                                ],
                                max_length=20,
                            ),
                        ),
                        (
                            "price",
                            models.DecimalField(
                                decimal_places=6,
                                max_digits=18,
                                validators=[django.core.validators.MinValueValidator(0)],
                            ),
                        ),
                        ("currency", models.CharField(max_length=3)),
                        ("valid_from", models.DateTimeField()),
                        ("valid_to", models.DateTimeField(blank=True, null=True)),
                        ("created_at", models.DateTimeField()),
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
                                to="billing.rate",
                            ),
                        ),
                        (
                            "price_book",
                            models.ForeignKey(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                related_query_name="+",
                                to="billing.pricebook",
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
                    name="Adjustment",
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
                                choices=[("adjustment", "adjustment"), ("credit", "credit")],
                                default="adjustment",
                                max_length=10,
                            ),
                        ),
                        ("amount", models.DecimalField(decimal_places=6, max_digits=20)),
                        ("currency", models.CharField(max_length=3)),
                        ("reason", models.CharField(max_length=1000)),
                        ("created_at", models.DateTimeField()),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "tenant",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="adjustments",
                                to="tenants.tenant",
                            ),
                        ),
                        (
                            "period",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="adjustments",
                                to="billing.billingperiod",
                            ),
                        ),
                        (
                            "refers_to",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="corrected_by",
                                to="billing.statement",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("amount", 0), _negated=True), name="adjustment_changes_something"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("kind", "credit"), _negated=True), ("amount__lt", 0), _connector="OR"
                                ),
                                name="credit_gives_back",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("reason", ""), _negated=True), name="adjustment_says_why"
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="StatementLine",
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
                                    ("usage", "usage"),
                                    ("excluded", "not charged"),
                                    ("adjustment", "adjustment"),
                                    ("credit", "credit"),
                                ],
                                max_length=10,
                            ),
                        ),
                        (
                            "meter",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("card_hour", "card-hour"),
                                    ("borrowed_card_hour", "borrowed card-hour"),
                                    ("cpu_core_hour", "CPU core-hour"),
                                    ("memory_gib_hour", "memory GiB-hour"),
                                    ("storage_gb_month", "storage GB-month"),
                                    ("egress_gb", "egress GB"),
                                ],
                                default="",
                                max_length=20,
                            ),
                        ),
                        ("flavor_name", models.CharField(blank=True, default="", max_length=63)),
                        ("borrowed", models.BooleanField(default=False)),
                        (
                            "held_as",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("billable", "billable"),
                                    ("grace", "grace after an eviction notice"),
                                    ("fault", "platform fault"),
                                    ("after-last-sign", "after the node's last sign of life"),
                                    ("set-aside", "on the tenant's own nodes, which are charged whole"),
                                ],
                                default="",
                                max_length=16,
                            ),
                        ),
                        ("quantity", models.DecimalField(decimal_places=0, default=0, max_digits=30)),
                        ("unit_price", models.DecimalField(decimal_places=6, max_digits=18, null=True)),
                        ("amount", models.DecimalField(decimal_places=6, max_digits=20)),
                        ("worth", models.DecimalField(decimal_places=6, max_digits=20, null=True)),
                        ("job_name", models.CharField(blank=True, default="", max_length=63)),
                        ("queue_name", models.CharField(blank=True, default="", max_length=40)),
                        ("project_name", models.CharField(blank=True, default="", max_length=63)),
                        ("charged_from", models.DateTimeField(null=True)),
                        ("charged_to", models.DateTimeField(null=True)),
                        ("reason", models.CharField(blank=True, default="", max_length=1000)),
                        (
                            "adjustment",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="billing.adjustment",
                            ),
                        ),
                        (
                            "charged_period",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="billing.billingperiod",
                            ),
                        ),
                        (
                            "flavor",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="tenants.flavor",
                            ),
                        ),
                        (
                            "job",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="scheduling.job",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="tenants.project",
                            ),
                        ),
                        (
                            "queue",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="tenants.queue",
                            ),
                        ),
                        (
                            "rate",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="billing.rate",
                            ),
                        ),
                        (
                            "statement",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="lines",
                                to="billing.statement",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["statement_id", "id"],
                        "indexes": [
                            models.Index(fields=["statement", "id"], name="line_by_statement"),
                            models.Index(fields=["job"], name="line_by_job"),
                        ],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("kind", "excluded"), _negated=True),
                                    models.Q(("amount", 0), models.Q(("reason", ""), _negated=True)),
                                    _connector="OR",
                                ),
                                name="line_excluded_costs_nothing",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("kind", "usage"), _negated=True), ("rate__isnull", False), _connector="OR"
                                ),
                                name="line_of_usage_has_a_price",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("charged_to__isnull", True),
                                    ("charged_to__gt", models.F("charged_from")),
                                    _connector="OR",
                                ),
                                name="line_charge_has_length",
                            ),
                        ],
                    },
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="pricebook",
                    trigger=pgtrigger.compiler.Trigger(
                        name="insert_insert",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func='INSERT INTO "billing_pricebookevent" ("created_at", "currency", "id", "name", "note", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (NEW."created_at", NEW."currency", NEW."id", NEW."name", NEW."note", _pgh_attach_context(), NOW(), \'insert\', NEW."id"); RETURN NULL;',
                            hash="2f2cc4a27a8fdd0c781f355ae248e0c25c62986f",
                            operation="INSERT",
                            pgid="pgtrigger_insert_insert_d1411",
                            table="billing_pricebook",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="pricebook",
                    trigger=pgtrigger.compiler.Trigger(
                        name="update_update",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                            func='INSERT INTO "billing_pricebookevent" ("created_at", "currency", "id", "name", "note", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (NEW."created_at", NEW."currency", NEW."id", NEW."name", NEW."note", _pgh_attach_context(), NOW(), \'update\', NEW."id"); RETURN NULL;',
                            hash="1b280d15bb0678eaaca5524a84b751054e30efb5",
                            operation="UPDATE",
                            pgid="pgtrigger_update_update_6f0d9",
                            table="billing_pricebook",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="billingperiod",
                    trigger=pgtrigger.compiler.Trigger(
                        name="period_is_frozen",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition='WHEN (OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."tenant_id" IS DISTINCT FROM (NEW."tenant_id") OR OLD."label" IS DISTINCT FROM (NEW."label") OR OLD."starts_at" IS DISTINCT FROM (NEW."starts_at") OR OLD."ends_at" IS DISTINCT FROM (NEW."ends_at") OR OLD."timezone" IS DISTINCT FROM (NEW."timezone"))',
                            func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;",
                            hash="926f3076bd1481235e1a980c52719ad7c83607a6",
                            operation="UPDATE",
                            pgid="pgtrigger_period_is_frozen_d04e3",
                            table="billing_billingperiod",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="billingperiod",
                    trigger=pgtrigger.compiler.Trigger(
                        name="period_closes_once",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            declare="DECLARE _is_valid_transition BOOLEAN;",
                            func='SELECT CONCAT(OLD."state", \':\', NEW."state") = ANY(\'{open:closed}\'::text[]) INTO _is_valid_transition; IF (_is_valid_transition IS FALSE AND OLD."state" IS DISTINCT FROM NEW."state") THEN RAISE EXCEPTION \'pgtrigger: Invalid transition of field "state" from "%" to "%" on table %\', OLD."state", NEW."state", TG_TABLE_NAME; ELSE RETURN NEW; END IF;',
                            hash="0c252c0c4b5356afe38e7c97ef2704cf1975c778",
                            operation="UPDATE",
                            pgid="pgtrigger_period_closes_once_a8c63",
                            table="billing_billingperiod",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="billingperiod",
                    trigger=pgtrigger.compiler.Trigger(
                        name="period_stays",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;",
                            hash="9bda939e2b80bcdbf7bbcda200a493baefb3a13f",
                            operation="DELETE",
                            pgid="pgtrigger_period_stays_89148",
                            table="billing_billingperiod",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="billingperiod",
                    trigger=pgtrigger.compiler.Trigger(
                        name="period_touches",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="\n    IF EXISTS (SELECT 1 FROM billing_billingperiod WHERE tenant_id = NEW.tenant_id)\n       AND NOT EXISTS (SELECT 1 FROM billing_billingperiod\n                        WHERE tenant_id = NEW.tenant_id AND (ends_at = NEW.starts_at OR starts_at = NEW.ends_at)) THEN\n        RAISE EXCEPTION 'period % leaves a gap beside the other periods of its tenant', NEW.label\n              USING ERRCODE = 'check_violation';\n    END IF;\n    RETURN NEW;\n",
                            hash="a791d32bb6525b114e58fd713135a44f7fdaafde",
                            operation="INSERT",
                            pgid="pgtrigger_period_touches_e6b4c",
                            table="billing_billingperiod",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="ledgerentry",
                    trigger=pgtrigger.compiler.Trigger(
                        name="ledger_is_append_only",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                            hash="12686b856200e96a6e6ee0920192fca823b9de99",
                            operation="UPDATE OR DELETE",
                            pgid="pgtrigger_ledger_is_append_only_72e88",
                            table="billing_ledgerentry",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="ledgerentry",
                    trigger=pgtrigger.compiler.Trigger(
                        name="ledger_posts_to_open_periods",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="\n    IF EXISTS (SELECT 1 FROM added JOIN billing_billingperiod period ON period.id = added.period_id\n                WHERE period.state = 'closed') THEN\n        RAISE EXCEPTION 'nothing can be posted to a closed period' USING ERRCODE = 'check_violation';\n    END IF;\n    RETURN NULL;\n",
                            hash="2beb46b8fb40e4993efc9159593b8b7ecf59f914",
                            level="STATEMENT",
                            operation="INSERT",
                            pgid="pgtrigger_ledger_posts_to_open_periods_f684b",
                            referencing="REFERENCING NEW TABLE AS added ",
                            table="billing_ledgerentry",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="rate",
                    trigger=pgtrigger.compiler.Trigger(
                        name="rate_is_frozen",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition='WHEN (OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."price_book_id" IS DISTINCT FROM (NEW."price_book_id") OR OLD."meter" IS DISTINCT FROM (NEW."meter") OR OLD."flavor_id" IS DISTINCT FROM (NEW."flavor_id") OR OLD."tenant_id" IS DISTINCT FROM (NEW."tenant_id") OR OLD."price" IS DISTINCT FROM (NEW."price") OR OLD."currency" IS DISTINCT FROM (NEW."currency") OR OLD."valid_from" IS DISTINCT FROM (NEW."valid_from") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at"))',
                            func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;",
                            hash="a6484b01801492d1d0d34385b668a15547f3c5fd",
                            operation="UPDATE",
                            pgid="pgtrigger_rate_is_frozen_eb948",
                            table="billing_rate",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="rate",
                    trigger=pgtrigger.compiler.Trigger(
                        name="rate_stays",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;",
                            hash="49f980052447b485bea73072889419c324f0e8d3",
                            operation="DELETE",
                            pgid="pgtrigger_rate_stays_8d066",
                            table="billing_rate",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="rate",
                    trigger=pgtrigger.compiler.Trigger(
                        name="rate_ends_in_open_time",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            declare="DECLARE last_closed timestamptz;",
                            func="\n    SELECT max(period.ends_at) INTO last_closed\n      FROM billing_billingperiod period JOIN tenants_tenant tenant ON tenant.id = period.tenant_id\n     WHERE period.state = 'closed' AND tenant.currency = NEW.currency\n       AND (NEW.tenant_id IS NULL OR NEW.tenant_id = period.tenant_id);\n    IF NEW.valid_to IS DISTINCT FROM OLD.valid_to\n       AND (NEW.valid_to < last_closed OR OLD.valid_to < last_closed) THEN\n        RAISE EXCEPTION 'rate %: its end lies in a closed period (closed until %)', NEW.id, last_closed\n              USING ERRCODE = 'check_violation';\n    END IF;\n    RETURN NEW;\n",
                            hash="0b29d66e4f04c87fee58e37072222a2fb0811ec2",
                            operation="UPDATE",
                            pgid="pgtrigger_rate_ends_in_open_time_58598",
                            table="billing_rate",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="rate",
                    trigger=pgtrigger.compiler.Trigger(
                        name="insert_insert",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func='INSERT INTO "billing_rateevent" ("created_at", "currency", "flavor_id", "id", "meter", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "price", "price_book_id", "tenant_id", "valid_from", "valid_to") VALUES (NEW."created_at", NEW."currency", NEW."flavor_id", NEW."id", NEW."meter", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."price", NEW."price_book_id", NEW."tenant_id", NEW."valid_from", NEW."valid_to"); RETURN NULL;',
                            hash="64094b714f4644553114fd6e5e8e940f2df0eb76",
                            operation="INSERT",
                            pgid="pgtrigger_insert_insert_c5849",
                            table="billing_rate",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="rate",
                    trigger=pgtrigger.compiler.Trigger(
                        name="update_update",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                            func='INSERT INTO "billing_rateevent" ("created_at", "currency", "flavor_id", "id", "meter", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "price", "price_book_id", "tenant_id", "valid_from", "valid_to") VALUES (NEW."created_at", NEW."currency", NEW."flavor_id", NEW."id", NEW."meter", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."price", NEW."price_book_id", NEW."tenant_id", NEW."valid_from", NEW."valid_to"); RETURN NULL;',
                            hash="edf6be6e3a4973d0d97c7ef1ab87a3768780166b",
                            operation="UPDATE",
                            pgid="pgtrigger_update_update_217f6",
                            table="billing_rate",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="statement",
                    trigger=pgtrigger.compiler.Trigger(
                        name="statement_issued_is_final",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition="WHEN (OLD.\"state\" = 'issued')",
                            func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                            hash="0f89dfb94b68203bb499f9fa4e4cb00e7a526374",
                            operation="UPDATE OR DELETE",
                            pgid="pgtrigger_statement_issued_is_final_3b6a8",
                            table="billing_statement",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="statement",
                    trigger=pgtrigger.compiler.Trigger(
                        name="statement_superseded_is_final",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            condition='WHEN (OLD."superseded_at" IS NOT NULL)',
                            func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                            hash="4b88ab80ea6c4578dc97e9af39b06ca2f1f33c9d",
                            operation="UPDATE OR DELETE",
                            pgid="pgtrigger_statement_superseded_is_final_1fded",
                            table="billing_statement",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="adjustment",
                    trigger=pgtrigger.compiler.Trigger(
                        name="adjustment_is_append_only",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                            hash="4e8940429a82350c607e71012576506d44782c02",
                            operation="UPDATE OR DELETE",
                            pgid="pgtrigger_adjustment_is_append_only_b3929",
                            table="billing_adjustment",
                            when="BEFORE",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="adjustment",
                    trigger=pgtrigger.compiler.Trigger(
                        name="adjustment_posts_to_open",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="\n    IF EXISTS (SELECT 1 FROM added JOIN billing_billingperiod period ON period.id = added.period_id\n                WHERE period.state = 'closed') THEN\n        RAISE EXCEPTION 'nothing can be posted to a closed period' USING ERRCODE = 'check_violation';\n    END IF;\n    RETURN NULL;\n",
                            hash="51cef861394e0e8c2bf07f2bc1ee18a25ea6e5e1",
                            level="STATEMENT",
                            operation="INSERT",
                            pgid="pgtrigger_adjustment_posts_to_open_372ff",
                            referencing="REFERENCING NEW TABLE AS added ",
                            table="billing_adjustment",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="statementline",
                    trigger=pgtrigger.compiler.Trigger(
                        name="line_final_insert",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="\n    IF EXISTS (SELECT 1 FROM (SELECT statement_id FROM added) line JOIN billing_statement statement ON statement.id = line.statement_id\n                WHERE statement.state = 'issued' OR statement.superseded_at IS NOT NULL) THEN\n        RAISE EXCEPTION 'the lines of an issued or superseded statement cannot change' USING ERRCODE = 'check_violation';\n    END IF;\n    RETURN NULL;\n",
                            hash="1d691b811366d90f5b65af0bb069111c371063d0",
                            level="STATEMENT",
                            operation="INSERT",
                            pgid="pgtrigger_line_final_insert_e92c0",
                            referencing="REFERENCING NEW TABLE AS added ",
                            table="billing_statementline",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="statementline",
                    trigger=pgtrigger.compiler.Trigger(
                        name="line_final_update",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="\n    IF EXISTS (SELECT 1 FROM (SELECT statement_id FROM before UNION ALL SELECT statement_id FROM added) line JOIN billing_statement statement ON statement.id = line.statement_id\n                WHERE statement.state = 'issued' OR statement.superseded_at IS NOT NULL) THEN\n        RAISE EXCEPTION 'the lines of an issued or superseded statement cannot change' USING ERRCODE = 'check_violation';\n    END IF;\n    RETURN NULL;\n",
                            hash="c5378f47574b2d288c998bfc15957f5952b6106a",
                            level="STATEMENT",
                            operation="UPDATE",
                            pgid="pgtrigger_line_final_update_b7fa6",
                            referencing="REFERENCING OLD TABLE AS before  NEW TABLE AS added ",
                            table="billing_statementline",
                            when="AFTER",
                        ),
                    ),
                ),
                pgtrigger.migrations.AddTrigger(
                    model_name="statementline",
                    trigger=pgtrigger.compiler.Trigger(
                        name="line_final_delete",
                        sql=pgtrigger.compiler.UpsertTriggerSql(
                            func="\n    IF EXISTS (SELECT 1 FROM (SELECT statement_id FROM before) line JOIN billing_statement statement ON statement.id = line.statement_id\n                WHERE statement.state = 'issued' OR statement.superseded_at IS NOT NULL) THEN\n        RAISE EXCEPTION 'the lines of an issued or superseded statement cannot change' USING ERRCODE = 'check_violation';\n    END IF;\n    RETURN NULL;\n",
                            hash="6edd23c5b31f2ea397ba089036970fba1755c5aa",
                            level="STATEMENT",
                            operation="DELETE",
                            pgid="pgtrigger_line_final_delete_f83ab",
                            referencing="REFERENCING OLD TABLE AS before ",
                            table="billing_statementline",
                            when="AFTER",
                        ),
                    ),
                ),
            ],
        ),
    ]
