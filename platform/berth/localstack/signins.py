"""Who can sign in to the demo: reads what `bootstrap_demo` wrote, tells it on the terminal."""

import json
import os
from pathlib import Path
from typing import Any

_ROLES = (
    ("tenant-member", "member"),
    ("tenant-admin", "tenant admin"),
    ("finance", "finance"),
    ("platform-admin", "platform admin"),
)


def lines(url: str, demo_file: Path) -> list[str]:
    """One line per role with a name and a password, and one with an API token; says so where there is no demo."""
    try:
        demo = json.loads(demo_file.read_text())
    except (OSError, ValueError):
        return ["no demo people here: make an admin with `.venv/bin/python manage.py createsuperuser`"]
    _keep_address(demo, url, demo_file)
    found: list[str] = []
    users: list[dict[str, Any]] = demo.get("users", [])
    for role, title in _ROLES:
        user = next((user for user in users if user.get("role") == role), None)
        if user is not None:
            found.append(f"  {title:<15} {user['username']:<16} {user['password']}")
    member = next((user for user in users if user.get("role") == "tenant-member"), None)
    if member is not None:
        found.append(f"  {'API token':<15} {member['username']:<16} {member['token']}")
    return ["sign in as", *found, f"  all of them in {demo_file.relative_to(demo_file.parents[1])}"]


def _keep_address(demo: dict[str, Any], url: str, demo_file: Path) -> None:
    """Scripts read the address from the same file, and this start may use another port than the one that wrote it."""
    if demo.get("url") == url:
        return
    new = demo_file.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(demo | {"url": url}, file, indent=2, ensure_ascii=False)
    new.replace(demo_file)
