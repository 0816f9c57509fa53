import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Entries are insert-only, so the guard steps aside for the one moment in which they learn whose they are.
FILL = """
ALTER TABLE billing_ledgerentry DISABLE TRIGGER USER;
UPDATE billing_ledgerentry entry SET lease_id = segment.lease_id
  FROM scheduling_leasesegment segment WHERE segment.id = entry.segment_id AND entry.lease_id IS NULL;
ALTER TABLE billing_ledgerentry ENABLE TRIGGER USER;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("billing", "0001_initial"),
        ("scheduling", "0007_billing_reads"),
        ("tenants", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="ledgerentry",
            name="ledger_entry_has_one_source",
        ),
        migrations.AddField(
            model_name="ledgerentry",
            name="lease",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="scheduling.lease"
            ),
        ),
        # The deferred check of the new key would stand in the way of altering the table again.
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name="ledgerentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("job__isnull", False), ("lease__isnull", False), ("node_interval__isnull", True)),
                    models.Q(
                        ("job__isnull", True),
                        ("lease__isnull", True),
                        ("node_interval__isnull", False),
                        ("segment__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="ledger_entry_has_one_source",
            ),
        ),
    ]
