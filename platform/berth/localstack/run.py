"""`make run`: from an empty checkout to a first page, then everything kept alive until Ctrl-C."""

import http.client
import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from berth import environment as deployment
from berth.environment import ROOT, Environment
from berth.localstack import signins
from berth.localstack.children import Child, Children
from berth.localstack.ports import LOOPBACK, is_free
from berth.localstack.problems import LauncherError, last_line
from berth.localstack.secret import kept_secret
from berth.localstack.services import claimed, publish, running

FIRST_PAGE_S = 120.0
_LOOK_S = 0.1
_DEATHS_BEFORE_GIVING_UP = 3
_WEB = "web"
_LOUD = ("level='error'", "level='critical'", "[ERROR]", "[CRITICAL]", "Traceback (most recent call last)")
_TRACEBACK = ("prepare |   ", "prepare | Traceback")
"""Stays in the log; its last line, which says what is wrong, is shown."""
_LOGS = deployment.LOCAL / "log"


def run(environment: Environment, *, data: str = "run") -> None:
    """Returns only by an exception: KeyboardInterrupt for a wished stop, LauncherError for a failure. `data` names its database."""
    with claimed("run", what="make run") as notes:
        if not is_free(environment.port):
            other = environment.port + 1
            raise LauncherError(f"port {environment.port} is in use: try `make run BERTH_PORT={other}`")
        with running(environment, notes, data, disposable=False) as services:
            try:
                publish(deployment.SERVICES_FILE, services, url=f"http://{LOOPBACK}:{environment.port}")
                _serve(environment, services.children, services.variables())
            finally:
                deployment.SERVICES_FILE.unlink(missing_ok=True)
                print("berth: stopping", flush=True)


def _serve(environment: Environment, children: Children, addresses: Mapping[str, str]) -> None:
    variables = {
        **os.environ,
        **addresses,
        "BERTH_PORT": str(environment.port),
        "BERTH_CLUSTER": environment.cluster,
        "BERTH_TIME_SCALE": str(environment.time_scale),
        "BERTH_SECRET_KEY": environment.secret_key or kept_secret(),
        "PYTHONUNBUFFERED": "1",
    }
    _prepare(children, variables)
    for child in _processes(environment, variables):
        children.start(child)
    _wait_for_first_page(environment.port, children)
    url = f"http://{LOOPBACK}:{environment.port}"
    print("\n".join(signins.lines(url, deployment.sign_ins_file(environment.cluster))), flush=True)
    print(f"ready {url}", flush=True)
    while True:
        _look(children)


def _prepare(children: Children, variables: Mapping[str, str]) -> None:
    """Migrate, load the demo into an empty database, start the clock again, collect static files: one Django process."""
    log = _LOGS / "prepare.log"
    log.unlink(missing_ok=True)
    everything = ("",)
    children.start(Child("prepare", _module("berth.localstack.prepare", ""), log, variables, loud=everything))
    while not children.has_ended("prepare"):
        _tell(line for line in children.said() if not line.startswith(_TRACEBACK))
        time.sleep(_LOOK_S / 5)
    code = children.ended_with("prepare")
    children.stop(only=["prepare"])
    if code != 0:
        raise LauncherError(f"the database could not be prepared: {last_line(log)} (see {log.relative_to(ROOT)})")


def _processes(environment: Environment, variables: Mapping[str, str]) -> list[Child]:
    """Web first: it is what the first page waits for."""
    commands = {
        # One process with threads: pages wait for the database more than they compute, and metrics stay in one place.
        _WEB: _module(
            "granian",
            f"--interface wsgi --host {LOOPBACK} --port {environment.port} --workers 1 --blocking-threads 8"
            " --no-ws --log-level warning berth.wsgi:application",
        ),
        # Processes, not threads: a cycle computes for up to a second and must not hold up billing, and time limits
        # and the return of a lost task work only there. Two: one for the cycle, one for the rest.
        "worker": _module(
            "celery",
            "-A berth worker --pool prefork --concurrency 2 --loglevel info --without-gossip --without-mingle",
        ),
        "beat": _module("celery", "-A berth beat --loglevel info --schedule .local/beat-schedule --pidfile="),
        "watch": [sys.executable, "manage.py", "watch"],
    }
    return [Child(name, line, _LOGS / f"{name}.log", variables, loud=_LOUD) for name, line in commands.items()]


def _module(name: str, options: str) -> list[str]:
    return [sys.executable, "-m", name, *options.split()]


def _wait_for_first_page(port: int, children: Children) -> None:
    deadline = time.monotonic() + FIRST_PAGE_S
    while not _answers(port):
        _look(children)
        if time.monotonic() > deadline or children.deaths(_WEB) >= _DEATHS_BEFORE_GIVING_UP:
            log = _LOGS / f"{_WEB}.log"
            raise LauncherError(f"no page came up: {last_line(log)} (see {log.relative_to(ROOT)})")


def _answers(port: int) -> bool:
    """Whether the first page (or the sign-in it leads to) can be had."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=10)
    with suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/")
        return connection.getresponse().status < http.client.INTERNAL_SERVER_ERROR
    return False


def _look(children: Children) -> None:
    _tell(children.look())
    time.sleep(_LOOK_S)


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)
