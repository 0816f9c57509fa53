"""`manage.py simulate`: replay a list of jobs on a virtual clock (docs/simulator.md). No database is needed."""

import json
import random
import sys
import time
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, OutputWrapper

from scheduling.engine.cycle import run_cycle
from scheduling.engine.policy import PRESETS, Policy
from scheduling.management.reading import beside, read_text, refuse
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.cluster_file import parse_cluster
from scheduling.simulator.jobs_file import parse_jobs
from scheduling.simulator.placing import place_arrivals
from scheduling.simulator.policy_file import parse_policy
from scheduling.simulator.problems import InvalidFileError
from scheduling.simulator.simulation import EndlessInstantError, Tools, replay
from scheduling.simulator.summary import jobs_csv, summarise
from scheduling.simulator.trace import Trace

DRAW_BITS = 62
PROGRESS_EVERY_S = 2.0


class Command(BaseCommand):
    help = "Replay a list of jobs against the scheduling engine on a virtual clock and print what came of it."
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--cluster", required=True, metavar="FILE", help="YAML: flavors, nodes, cohorts, tenants")
        parser.add_argument("--jobs", required=True, metavar="FILE", help="CSV or .csv.gz, one row a job")
        parser.add_argument(
            "--policy", metavar="FILE", help="YAML: a preset name, or {preset: NAME, overrides}; or a preset name"
        )
        parser.add_argument("--out", metavar="DIR", help="write summary.json and jobs.csv there")
        parser.add_argument("--seed", type=int, default=0, metavar="N", help="for presets that draw at random")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            cluster, trace, policy = _read(options["cluster"], options["jobs"], options["policy"])
        except InvalidFileError as invalid:
            refuse(invalid, self.stderr)
        progress = _Progress(len(trace), self.stderr)
        tools = Tools(decide=partial(run_cycle, explain=False), stopwatch=time.perf_counter_ns, progress=progress.tell)
        try:
            if policy.queueing:
                result = replay(cluster, trace, policy, tools)
            else:
                draws = random.Random(options["seed"])  # noqa: S311 (a placement contest, not a secret)
                result = place_arrivals(
                    cluster, trace, policy, iter(lambda: draws.getrandbits(DRAW_BITS), -1), stopwatch=tools.stopwatch
                )
        except EndlessInstantError as error:
            raise CommandError(str(error)) from error
        summary = json.dumps(summarise(result), indent=2) + "\n"
        if options["out"]:
            folder = Path(options["out"])
            try:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "summary.json").write_text(summary, encoding="utf-8")
                (folder / "jobs.csv").write_text(jobs_csv(result), encoding="utf-8")
            except OSError as error:
                raise CommandError(f"{folder} cannot be written: {error.strerror}") from error
        sys.stdout.write(summary)


def _read(cluster_file: str, jobs_file: str, policy_file: str | None) -> tuple[Cluster, Trace, Policy]:
    """All three files; where several are wrong, the problems of all that could be read are listed together."""
    invalid: list[InvalidFileError] = []
    policy, cluster, trace = PRESETS["default"], None, None
    try:
        if policy_file in PRESETS:
            policy = PRESETS[policy_file]
        elif policy_file:
            policy = parse_policy(read_text(policy_file), policy_file)
    except InvalidFileError as error:
        invalid.append(error)
    try:
        cluster = parse_cluster(read_text(cluster_file), cluster_file, beside(cluster_file))
        trace = parse_jobs(read_text(jobs_file), jobs_file, cluster)
    except InvalidFileError as error:
        invalid.append(error)
    if invalid or cluster is None or trace is None:
        raise InvalidFileError(tuple(problem for error in invalid for problem in error.problems))
    return cluster, trace, policy


class _Progress:
    """A line on stderr every two seconds of a long replay."""

    def __init__(self, jobs: int, stderr: OutputWrapper) -> None:
        self._jobs, self._stderr = jobs, stderr
        self._next = time.monotonic() + PROGRESS_EVERY_S

    def tell(self, ended: int, waiting: int, now_ms: int) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PROGRESS_EVERY_S
        days = now_ms / 86_400_000
        self._stderr.write(f"day {days:.2f}: {ended} of {self._jobs} jobs ended, {waiting} wait", lambda text: text)
