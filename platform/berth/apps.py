"""The composition root as a Django app: loads the Celery application and the system checks once Django is ready."""

from django.apps import AppConfig


class BerthConfig(AppConfig):
    name = "berth"
    verbose_name = "Berth"

    def ready(self) -> None:
        # Not in `berth/__init__.py`: the pure rooms must stay importable without Celery (STYLE, import contracts).
        from berth import (
            celery,  # noqa: F401  (shared tasks bind to the last application created)
            checks,  # noqa: F401  (registers the system checks)
        )
        from berth.words import name_models

        name_models()
