"""The signing key of a checkout without BERTH_SECRET_KEY: made once, kept, so that a restart signs nobody out."""

import os
import secrets

from berth.environment import SECRET_KEY_FILE


def kept_secret() -> str:
    try:
        return SECRET_KEY_FILE.read_text().strip()
    except FileNotFoundError:
        key = secrets.token_urlsafe(50)
        with os.fdopen(os.open(SECRET_KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(key)
        return key
