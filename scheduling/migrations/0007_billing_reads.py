from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0006_shares_by_index")]

    operations = [
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("cost_final", False)), fields=["tenant", "id"], name="job_cost_open"
            ),
        ),
    ]
