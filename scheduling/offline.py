"""The scheduling app without its models: where commands run that have no database (`berth.offline`)."""

from django.apps import AppConfig


class OfflineConfig(AppConfig):
    name = "scheduling"
    label = "scheduling"

    def import_models(self) -> None:
        """Models need the other apps and a database; the offline commands use neither."""
        self.models = {}
