from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("billing", "0002_entries_name_their_lease"),
    ]

    operations = [
        migrations.AddField(
            model_name="statementline",
            name="posted",
            field=models.DecimalField(decimal_places=0, default=0, max_digits=30),
        ),
    ]
