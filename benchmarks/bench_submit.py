"""How long a submit by REST takes with the loop running: open loop at a fixed rate, then saturation beside a bare DRF insert.

    DATABASE_URL=... REDIS_URL=... python -m benchmarks.bench_submit --rate 50 --seconds 60

Makes a database of its own on the given server and drops it; every process it starts ends with it; loopback only. Prints one
JSON object, also into benchmarks/results/. Latency counts from the instant a request was due, so that a stalled server cannot
hide behind the requests it kept from being sent.
"""

import argparse
import asyncio
import json
import os
import platform
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

ROOT = Path(__file__).resolve().parents[1]
LOOPBACK = "127.0.0.1"
START_S = 120
STOP_S = 15
CONNECTIONS = 64
SATURATION_CLIENTS = 16
SCENARIO = "lending"
PREPARE = """
import sys
sys.path.append("platform")
import django
django.setup()
from pathlib import Path
from django.core.management import call_command
from berth.demo.bootstrap import bootstrap
call_command("migrate", verbosity=0)
bootstrap(sys.argv[1], replace=False, local=Path(sys.argv[2]), url=sys.argv[3], say=lambda line: None)
"""
CYCLES = """
    SELECT count(*), max(duration_ms), percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms)
      FROM scheduling_cycle WHERE NOT failed
"""
WEB = "-m granian --interface wsgi --host 127.0.0.1 --port {port} --workers 1 --blocking-threads 8 --no-ws --log-level warning"
LOOP = (
    "-m celery -A berth worker --pool prefork --concurrency 2 --loglevel warning --without-gossip --without-mingle",
    "-m celery -A berth beat --loglevel warning --schedule {folder}/beat --pidfile=",
)


@dataclass(slots=True)
class Seen:
    """What one phase saw: seconds per request, and answers by status (0 = no answer)."""

    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    took_s: float = 0.0
    cpu_s: float = 0.0
    """What this process, the load generator, used meanwhile."""

    def summary(self) -> dict[str, Any]:
        ordered = sorted(self.latencies)
        return {
            "requests": len(ordered),
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "per_s": round(self.statuses[201] / self.took_s, 1) if self.took_s else 0,
            "mean_ms": _ms(statistics.fmean(ordered)) if ordered else None,
            **{
                f"p{name}_ms": _ms(_percentile(ordered, share))
                for name, share in (("50", 0.5), ("95", 0.95), ("99", 0.99))
            },
            "max_ms": _ms(ordered[-1]) if ordered else None,
            "generator_core_share": round(self.cpu_s / self.took_s, 3) if self.took_s else None,
        }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)


def _percentile(ordered: list[float], share: float) -> float | None:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


class Client:
    """Keep-alive HTTP/1.1 connections, each used by one request at a time."""

    def __init__(self, port: int, token: str, body: Mapping[str, Any]) -> None:
        payload = json.dumps(body).encode()
        head = (
            f"POST /api/v1/jobs HTTP/1.1\r\nHost: {LOOPBACK}:{port}\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
        )
        self._port, self._request = port, head.encode() + payload
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._slots = asyncio.Semaphore(CONNECTIONS)

    async def post(self) -> int:
        """The answer's status; 0 where there was none."""
        async with self._slots:
            try:
                reader, writer = await self._connection()
                writer.write(self._request)
                status = await asyncio.wait_for(_answer(reader), 30)
            except (OSError, ValueError, asyncio.IncompleteReadError, TimeoutError):
                return 0
            self._idle.append((reader, writer))
            return status

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """An idle one that the server has not closed meanwhile, or a new one."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_connection(LOOPBACK, self._port)

    def close(self) -> None:
        for _reader, writer in self._idle:
            writer.close()


async def _answer(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = next(line for line in head.split("\r\n") if line.startswith("content-length:")).partition(":")[2]
    await reader.readexactly(int(length))
    return int(head.split()[1])


async def open_loop(client: Client, rate: int, seconds: int) -> Seen:
    """Requests start when they are due, whether or not earlier ones have been answered."""
    seen = Seen()
    began = time.monotonic()

    async def one(due: float) -> None:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        status = await client.post()
        seen.latencies.append(time.monotonic() - due)
        seen.statuses[status] += 1

    await asyncio.gather(*(one(began + number / rate) for number in range(rate * seconds)))
    seen.took_s = time.monotonic() - began
    return seen


async def closed_loop(client: Client, seconds: int) -> Seen:
    """As many as the server takes from a fixed number of clients."""
    seen = Seen()
    began = time.monotonic()

    async def keep_asking() -> None:
        while (at := time.monotonic()) - began < seconds:
            seen.statuses[await client.post()] += 1
            seen.latencies.append(time.monotonic() - at)

    await asyncio.gather(*(keep_asking() for _client in range(SATURATION_CLIENTS)))
    seen.took_s = time.monotonic() - began
    return seen


async def measure(
    port: int, group: int, token: str, body: Mapping[str, Any], *, rate: int = 0, seconds: int
) -> dict[str, Any]:
    """Open loop at `rate`, closed loop without one; a few requests before warm the server."""
    client = Client(port, token, body)
    for _warm in range(10):
        await client.post()
    own, server = time.process_time(), group_cpu_s(group)
    seen = await (open_loop(client, rate, seconds) if rate else closed_loop(client, seconds))
    seen.cpu_s, served_s = time.process_time() - own, group_cpu_s(group) - server
    client.close()
    return {**seen.summary(), "server_cpu_ms_a_request": _ms(served_s / max(1, len(seen.latencies)))}


def group_cpu_s(group: int) -> float:
    """CPU seconds so far of all processes of a process group, ended threads included (Linux)."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(") ")[2].split()
            if int(fields[2]) == group:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def a_database() -> Iterator[str]:
    """A fresh database on the given server, dropped at the end."""
    server, _slash, _name = os.environ["DATABASE_URL"].rpartition("/")
    name = f"berth_bench_{secrets.token_hex(4)}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield f"{server}/{name}"
        finally:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@contextmanager
def processes(*lines: str, environment: Mapping[str, str]) -> Iterator[list[int]]:
    """Python processes of this run's own, each in a group of its own, ended with it. Answers the groups."""
    log = subprocess.DEVNULL
    started = [
        subprocess.Popen(
            [sys.executable, *line.split()],
            env=dict(environment),
            cwd=ROOT,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        for line in lines
    ]
    try:
        yield [process.pid for process in started]
    finally:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for process in started:
                if process.poll() is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, sign)
            for process in started:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(STOP_S)


def free_port() -> int:
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        return int(found.getsockname()[1])


def wait_for(port: int) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((LOOPBACK, port), 1):
            return
        time.sleep(0.2)
    raise SystemExit("the server did not come up")


def prepare(environment: Mapping[str, str], folder: Path) -> tuple[str, dict[str, Any]]:
    """Tables and the scenario; a member's token and a body for their queue."""
    line = [sys.executable, "-c", PREPARE, SCENARIO, str(folder), f"http://{LOOPBACK}"]
    subprocess.run(line, env=dict(environment), cwd=ROOT, check=True, timeout=600)
    users = json.loads((folder / "demo.json").read_text())["users"]
    member = next(user for user in users if user["role"] == "tenant-member")
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        queue = connection.execute(
            "SELECT q.name FROM tenants_queue q JOIN tenants_tenant t ON t.id = q.tenant_id"
            " JOIN tenants_quota u ON u.queue_id = q.id AND u.nominal > 0 WHERE t.slug = %s ORDER BY q.id",
            [member["tenant"]],
        ).fetchall()[0]
    role = {"name": "worker", "replicas": 1, "image": "registry.example/train:1", "resources": {"gpu": 1}}
    body = {
        "tenant": member["tenant"],
        "queue": queue[0],
        "name": "bench",
        "max_runtime": 3600,
        "labels": {"berth.dev/sim-duration": "60"},
        "roles": [role],
    }
    return member["token"], body


def run(rate: int, seconds: int, saturation_s: int) -> dict[str, Any]:
    """All phases, one after another, on one database."""
    with a_database() as url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {
            **os.environ,
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "berth.settings",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
            "BERTH_SECRET_KEY": secrets.token_hex(32),
        }
        token, body = prepare(environment, folder)
        loop = [line.format(folder=folder) for line in LOOP]
        found: dict[str, Any] = {}
        with processes(*loop, environment=environment) as groups:
            began = time.monotonic(), sum(map(group_cpu_s, groups))
            for key, limits in (("limiter_off", "0"), ("limiter_on", "1")):
                with a_server(environment | {"BERTH_RATE_LIMITS": limits}, "berth.wsgi:application") as (port, group):
                    found[key] = asyncio.run(measure(port, group, token, body, rate=rate, seconds=seconds))
            with a_server(environment | {"BERTH_RATE_LIMITS": "0"}, "berth.wsgi:application") as (port, group):
                found["saturation"] = asyncio.run(measure(port, group, token, body, seconds=saturation_s))
            with a_server(environment | {"BERTH_RATE_LIMITS": "0"}, "benchmarks.bare_insert:application") as (
                port,
                group,
            ):
                bare = {key: body[key] for key in ("name", "max_runtime", "labels")}
                found["bare_insert"] = asyncio.run(measure(port, group, token, bare, seconds=saturation_s))
            loop_share = (sum(map(group_cpu_s, groups)) - began[1]) / (time.monotonic() - began[0])
        with psycopg.connect(url) as connection:
            cycles = connection.execute(CYCLES).fetchall()[0]
    ratio = found["saturation"]["per_s"] / found["bare_insert"]["per_s"] if found["bare_insert"]["per_s"] else None
    return {
        "benchmark": "submit",
        "rate_per_s": rate,
        "seconds": seconds,
        **found,
        "saturation_of_bare": None if ratio is None else round(ratio, 3),
        "cycles_meanwhile": cycles[0],
        "longest_cycle_ms": cycles[1],
        "median_cycle_ms": cycles[2],
        "loop_core_share": round(loop_share, 3),
        "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "system": platform.platform()},
        "load_average": [round(each, 1) for each in os.getloadavg()],
    }


@contextmanager
def a_server(environment: Mapping[str, str], application: str) -> Iterator[tuple[int, int]]:
    """The port and process group of one web server."""
    port = free_port()
    with processes(f"{WEB.format(port=port)} {application}", environment=environment) as groups:
        wait_for(port)
        yield port, groups[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=50, help="requests a second of the open loop")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--saturation", type=int, default=15, help="seconds of each closed loop")
    given = parser.parse_args()
    # Ended from outside, it unwinds too: its processes and its database go with it.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    result = run(given.rate, given.seconds, given.saturation)
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    (folder / "submit.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
