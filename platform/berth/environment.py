"""What the deployment says: every environment variable Berth reads, parsed and checked in one place.

Needs no Django, so that the launcher can refuse a wrong value before it starts anything.
"""

import json
import os
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from environs import Env, EnvError, validate

ROOT = Path(__file__).resolve().parents[2]
LOCAL = ROOT / ".local"
SERVICES_FILE = LOCAL / "services.json"
"""Where a running launcher notes the addresses of its PostgreSQL and Valkey, so that `manage.py` finds them."""

SECRET_KEY_FILE = LOCAL / "secret_key"

CLUSTERS = ("simulated", "kubernetes")
EMAIL_SCHEMES = ("smtp", "smtps", "smtp+tls", "smtp+ssl", "submission", "console", "file", "memory", "dummy")
MAX_TIME_SCALE = 86_400
DEMO_TIME_SCALE = 60
NO_DATABASE_URL = "postgresql://postgres@127.0.0.1:5432/berth"
NO_REDIS_URL = "redis://127.0.0.1:6379/0"


@dataclass(frozen=True, slots=True)
class Environment:
    """All of it. `database_url` and `redis_url` are None where the launcher should bring its own."""

    database_url: str | None
    redis_url: str | None
    secret_key: str | None
    allowed_hosts: tuple[str, ...]
    port: int
    demo: bool
    cluster: str
    kubeconfig: str | None
    time_scale: int
    prometheus_url: str | None
    email_url: str | None
    oidc_server_url: str | None
    oidc_client_id: str | None
    oidc_client_secret: str | None
    rate_limits: bool
    api_url: str | None
    logs_dir: Path
    log_kib: int
    logs_mib: int


class WrongEnvironmentError(Exception):
    """A variable has a value that cannot be used; the text is one line that names it."""


def read() -> Environment:
    """The environment as it is now. Raises WrongEnvironmentError naming every variable that is wrong."""
    env = Env(eager=False)
    cluster = env.str("BERTH_CLUSTER", "simulated", validate=validate.OneOf(CLUSTERS))
    scale = env.int("BERTH_TIME_SCALE", DEMO_TIME_SCALE, validate=validate.Range(min=1, max=MAX_TIME_SCALE))
    found = Environment(
        database_url=_url(env, "DATABASE_URL", ("postgres", "postgresql")),
        redis_url=_url(env, "REDIS_URL", ("redis", "rediss", "valkey", "valkeys", "unix")),
        secret_key=env.str("BERTH_SECRET_KEY", None) or None,
        allowed_hosts=tuple(env.list("BERTH_ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]"])),
        port=env.int("BERTH_PORT", 8000, validate=validate.Range(min=1, max=65535)),
        demo=env.bool("BERTH_DEMO", True),
        cluster=cluster,
        kubeconfig=env.str("BERTH_KUBECONFIG", None, validate=_file) or None,
        # A real cluster's clock cannot be hurried (DESIGN section 6).
        time_scale=1 if cluster == "kubernetes" else scale,
        prometheus_url=_url(env, "PROMETHEUS_URL", ("http", "https")),
        email_url=_url(env, "EMAIL_URL", EMAIL_SCHEMES),
        oidc_server_url=_url(env, "BERTH_OIDC_SERVER_URL", ("http", "https")),
        oidc_client_id=env.str("BERTH_OIDC_CLIENT_ID", None) or None,
        oidc_client_secret=env.str("BERTH_OIDC_CLIENT_SECRET", None) or None,
        # Off only to measure what lies behind the limits.
        rate_limits=env.bool("BERTH_RATE_LIMITS", True),
        api_url=env.str("BERTH_API_URL", None, validate=_site) or None,
        logs_dir=Path(env.str("BERTH_LOGS_DIR", "") or LOCAL / "logs"),
        log_kib=env.int("BERTH_LOG_KIB", 1024, validate=validate.Range(min=1, max=65_536)),
        logs_mib=env.int("BERTH_LOGS_MIB", 1024, validate=validate.Range(min=1)),
    )
    try:
        env.seal()
    except EnvError as error:
        messages = getattr(error, "error_messages", {}) or {}
        lines = [f"{_shown(name)}: {' '.join(map(str, why))}" for name, why in sorted(messages.items())]
        raise WrongEnvironmentError("; ".join(lines) or str(error)) from error
    return found


def read_or_exit() -> Environment:
    """The same for programs: a wrong value ends the process with one line and exit code 2."""
    try:
        return read()
    except WrongEnvironmentError as error:
        _refuse(str(error))


def sign_ins_file(cluster: str) -> Path:
    """Where the demo's sign-ins are kept; a demo on a real cluster has a database, and so people, of its own."""
    return LOCAL / ("demo.json" if cluster == "simulated" else f"demo-{cluster}.json")


def running_services() -> dict[str, str]:
    """Addresses of what a launcher runs for this checkout (`database_url`, `redis_url`, `url` of the pages); empty without one."""
    try:
        noted = json.loads(SERVICES_FILE.read_text())
    except (OSError, ValueError):
        return {}
    return {str(name): str(url) for name, url in noted.items()}


def host_of(url: str | None) -> tuple[str, ...]:
    """The host of an address as Django's list of allowed hosts wants it; nothing for no address."""
    host = urlsplit(url).hostname if url else None
    return () if not host else (f"[{host}]" if ":" in host else host,)


def secret_key(environment: Environment) -> str:
    """The signing key: from the environment, else the one the launcher keeps, else one that lives as long as this process."""
    if environment.secret_key:
        return environment.secret_key
    try:
        return SECRET_KEY_FILE.read_text().strip() or secrets.token_urlsafe(50)
    except OSError:
        return secrets.token_urlsafe(50)


def _shown(name: str) -> str:
    """`NAME=value`, or the name alone where the value may hold a password."""
    return name if name.endswith(("URL", "KEY", "SECRET")) else f"{name}={os.environ.get(name, '')}"


def _url(env: Env, name: str, schemes: tuple[str, ...]) -> str | None:
    def usable(value: str) -> None:
        if value and urlsplit(value).scheme not in schemes:
            raise validate.ValidationError(
                f"Not an address that starts with {' or '.join(f'{s}://' for s in schemes)}."
            )

    return env.str(name, None, validate=usable) or None


def _site(value: str) -> None:
    """Where pods reach this site: scheme, host and port, and nothing that a report's address could not be put behind."""
    parts = urlsplit(value)
    try:
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if value and (not usable or "@" in parts.netloc or parts.path.strip("/") or parts.query or parts.fragment):
        raise validate.ValidationError("Not an address like http://berth.example:8000, without a path.")


def _file(value: str) -> None:
    if value and not Path(value).is_file():
        raise validate.ValidationError("There is no such file.")


def _refuse(text: str) -> NoReturn:
    print(f"berth: {text}", file=sys.stderr)
    raise SystemExit(2)
