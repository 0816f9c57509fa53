"""System checks: what can be known to be wrong before the first request."""

from typing import Any

from django.core.checks import CheckMessage, register
from django.core.checks import Warning as CheckWarning

from berth import environment


@register(deploy=True)
def secret_key_is_kept(**_kwargs: Any) -> list[CheckMessage]:
    if environment.read().secret_key or environment.SECRET_KEY_FILE.exists():
        return []
    return [CheckWarning("BERTH_SECRET_KEY is not set: sessions end whenever a process starts again.", id="berth.W001")]
