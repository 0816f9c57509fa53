"""PostgreSQL and Valkey together: brings whichever of the two the environment does not name."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from berth.environment import Environment
from berth.localstack import area, lock, postgres, valkey
from berth.localstack.children import Children
from berth.localstack.ports import free_port
from berth.localstack.problems import require_space
from berth.localstack.processes import end_leftovers


@dataclass(frozen=True, slots=True)
class Services:
    """Addresses for the processes to come, and the children that serve them so far."""

    database_url: str
    redis_url: str
    children: Children

    def variables(self) -> dict[str, str]:
        return {"DATABASE_URL": self.database_url, "REDIS_URL": self.redis_url}


@contextmanager
def claimed(purpose: str, *, what: str) -> Iterator[Path]:
    """Hold `purpose` of this checkout, with everything ended that a killed launcher left. Answers the notes' path."""
    local = area.local_folder()
    with lock.only_one(local / f"{purpose}.lock", what=what):
        notes = local / f"{purpose}.processes.json"
        end_leftovers(notes)
        yield notes


@contextmanager
def running(environment: Environment, notes: Path, purpose: str, *, disposable: bool) -> Iterator[Services]:
    """Both services answer inside the block; what was started here is stopped at its end."""
    children = Children(notes)
    try:
        yield _started(environment, children, purpose, disposable=disposable)
    finally:
        children.stop(only=[name for name in children.names() if name not in (postgres.NAME, valkey.NAME)])
        children.stop()


def publish(path: Path, services: Services, *, url: str) -> None:
    """Note the addresses for `manage.py` in another terminal; they hold passwords, so only we may read them."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        noted = {"database_url": services.database_url, "redis_url": services.redis_url, "url": url}
        json.dump(noted, file)
    new.replace(path)


def _started(environment: Environment, children: Children, purpose: str, *, disposable: bool) -> Services:
    local = area.local_folder()
    require_space(local)
    logs = local / "log"
    logs.mkdir(exist_ok=True)
    # Valkey comes up while the database is prepared.
    redis_url = environment.redis_url or _start_valkey(children, local, logs / f"{purpose}-valkey.log")
    database_url = environment.database_url or _start_postgres(
        children, purpose, logs / f"{purpose}-postgres.log", disposable=disposable
    )
    if environment.redis_url is None:
        valkey.wait_until_ready(redis_url, logs / f"{purpose}-valkey.log", lambda: children.has_ended(valkey.NAME))
    return Services(database_url, redis_url, children)


def _start_valkey(children: Children, local: Path, log: Path) -> str:
    address = valkey.new_address(free_port())
    children.start(valkey.server(address, local, log))
    return address.url


def _start_postgres(children: Children, purpose: str, log: Path, *, disposable: bool) -> str:
    person = area.other_person()
    folder = area.data_folder(person)
    require_space(folder)
    cluster = postgres.prepared(folder / purpose, folder, person, disposable=disposable)
    port = free_port()
    children.start(postgres.server(cluster, port, log, disposable=disposable))
    return postgres.wait_until_ready(cluster, port, log, lambda: children.has_ended(postgres.NAME))
