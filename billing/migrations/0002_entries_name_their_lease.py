import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


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
