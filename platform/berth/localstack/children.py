"""The processes of one launcher: start, start again when they die, stop. Knows nothing of what they are for."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from berth.environment import ROOT
from berth.localstack.area import Person
from berth.localstack.lifeline import die_with_parent
from berth.localstack.logs import Tail
from berth.localstack.processes import Noted, born, note, send_group

BACKOFF_FIRST_S = 0.5
BACKOFF_MOST_S = 30.0
HEALTHY_AFTER_S = 30.0
"""A process that lived this long starts again without the delay that earlier deaths had built up."""

STOP_S = 15.0


@dataclass(frozen=True, slots=True)
class Child:
    """What to run. `configuration` goes to its standard input (so that no password stands in the process list)."""

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    folder: Path = ROOT
    stop_signal: signal.Signals = signal.SIGTERM
    person: Person | None = None
    configuration: str | None = None
    loud: tuple[str, ...] = ()
    """A log line that contains one of these is shown on the terminal too."""


@dataclass(slots=True)
class _State:
    child: Child
    tail: Tail
    process: subprocess.Popen[bytes]
    born: str
    started_at: float
    deaths: int = 0
    again_at: float | None = None


class Children:
    """Keeps them running. All methods are for one thread: the kernel ends a child when the thread that started it ends."""

    def __init__(self, notes: Path) -> None:
        self._notes = notes
        self._states: dict[str, _State] = {}

    def start(self, child: Child) -> None:
        process = _spawn(child)
        self._states[child.name] = _State(
            child, Tail(child.log, child.loud), process, born(process.pid), time.monotonic()
        )
        self._note()

    def names(self) -> list[str]:
        return [*self._states]

    def pid(self, name: str) -> int:
        return self._states[name].process.pid

    def has_ended(self, name: str) -> bool:
        return self._states[name].process.poll() is not None

    def ended_with(self, name: str) -> int | None:
        """The exit code of a child that has ended (negative: a signal's number)."""
        return self._states[name].process.poll()

    def send(self, name: str, sent: signal.Signals) -> None:
        """Signal one child, to stop it in its tracks or let it go on."""
        self._states[name].process.send_signal(sent)

    def deaths(self, name: str) -> int:
        return self._states[name].deaths

    def said(self) -> list[str]:
        """New loud lines of all logs, each with its process's name."""
        return [f"{s.child.name} | {line}" for s in self._states.values() for line in s.tail.loud_lines()]

    def look(self) -> list[str]:
        """Start again what died and is due; answers lines for the terminal, one per event."""
        now = time.monotonic()
        lines = self.said()
        for state in self._states.values():
            if state.again_at is not None:
                if now >= state.again_at:
                    self._again(state)
            elif state.process.poll() is not None:
                lines.append(self._bury(state, now))
        return lines

    def stop(self, *, patience_s: float = STOP_S, only: Sequence[str] | None = None) -> None:
        """Ask all (or `only` those) to end at once, wait, kill what is left with everything it started."""
        states = [state for name, state in self._states.items() if only is None or name in only]
        for state in states:
            if state.process.poll() is None:
                state.process.send_signal(state.child.stop_signal)
        deadline = time.monotonic() + patience_s
        for state in states:
            try:
                state.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                send_group(state.process.pid, signal.SIGKILL)
                state.process.wait()
            send_group(state.process.pid, signal.SIGKILL)
            del self._states[state.child.name]
        self._note()

    def _bury(self, state: _State, now: float) -> str:
        # Pool processes and server processes whose parent was killed would work on beside their successors.
        send_group(state.process.pid, signal.SIGKILL)
        state.deaths = 1 if now - state.started_at > HEALTHY_AFTER_S else state.deaths + 1
        delay = min(BACKOFF_MOST_S, BACKOFF_FIRST_S * 2 ** (state.deaths - 1))
        state.again_at = now + delay
        why = _ended(state.process.returncode)
        return f"{state.child.name} {why}; starting it again in {delay:g} s (see {_shown(state.child.log)})"

    def _again(self, state: _State) -> None:
        state.process = _spawn(state.child)
        state.born, state.started_at, state.again_at = born(state.process.pid), time.monotonic(), None
        self._note()

    def _note(self) -> None:
        note(
            self._notes,
            [Noted(s.child.name, s.process.pid, s.born, int(s.child.stop_signal)) for s in self._states.values()],
        )


def _spawn(child: Child) -> subprocess.Popen[bytes]:
    person = child.person
    with _opened(child.log) as log:
        process = subprocess.Popen(
            [*child.command],
            env=dict(child.environment),
            cwd=child.folder if person is None else "/",
            stdin=subprocess.PIPE if child.configuration is not None else subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, child.stop_signal),  # noqa: PLW1509 - the launcher has one thread
            user=person.uid if person else None,
            group=person.gid if person else None,
            extra_groups=[] if person else None,
        )
    if child.configuration is not None and process.stdin is not None:
        with process.stdin as stdin:
            stdin.write(child.configuration.encode())
    return process


def _opened(log: Path) -> IO[bytes]:
    log.parent.mkdir(exist_ok=True)
    return log.open("ab")


def _ended(code: int) -> str:
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
