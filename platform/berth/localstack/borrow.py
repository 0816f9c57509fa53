"""Runs one command with PostgreSQL and Valkey of its own: what `make test` and `make bench` do."""

import os
import signal
import subprocess
from collections.abc import Sequence
from functools import partial

from berth.environment import ROOT, Environment
from berth.localstack.lifeline import die_with_parent
from berth.localstack.services import claimed, running

_GOODBYE_S = 30.0


def run_with_services(environment: Environment, purpose: str, command: Sequence[str]) -> int:
    """The command's exit code. Its services keep nothing safe from a power cut: tests are quicker for it."""
    with (
        claimed(purpose, what=f"make {purpose}") as notes,
        running(environment, notes, purpose, disposable=True) as services,
    ):
        process = subprocess.Popen(
            [*command],
            cwd=ROOT,
            env={**os.environ, **services.variables()},
            preexec_fn=partial(die_with_parent, signal.SIGTERM),  # noqa: PLW1509 - the launcher has one thread
        )
        try:
            return _as_exit_code(process.wait())
        except KeyboardInterrupt:
            # The terminal told the command too; a stop by signal reached only us.
            process.send_signal(signal.SIGINT)
            return _last_words(process)


def _last_words(process: subprocess.Popen[bytes]) -> int:
    try:
        return _as_exit_code(process.wait(_GOODBYE_S))
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        return _as_exit_code(process.wait())


def _as_exit_code(ended: int) -> int:
    """A death by signal as shells tell it."""
    return ended if ended >= 0 else 128 - ended
