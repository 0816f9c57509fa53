"""Sizes of running jobs for the snapshot: what they asked for, and which of them change nothing by themselves now (SCH-10)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduling.selectors.snapshot_rows import fetch

_WANTED = """SELECT r.id, r.wanted_size FROM scheduling_run r
    WHERE r.wanted_size IS NOT NULL AND r.state IN ('admitted', 'starting', 'running')"""
_FIXED = """SELECT r.id FROM scheduling_run r WHERE r.state IN ('admitted', 'starting', 'running')
    AND EXISTS (SELECT FROM scheduling_role o WHERE o.job_id = r.job_id AND o.in_gang AND o.minimum < o.replicas)
    AND (r.state <> 'running' OR EXISTS (SELECT FROM scheduling_pod p WHERE p.run_id = r.id AND p.in_gang AND (
        p.released_at IS NULL AND p.phase <> 'running'
        OR p.released_at IS NOT NULL AND p.phase IN ('planned', 'pending', 'running'))))"""
"""Not all pods run: some are starting, some leave, or one has ended by itself and the others will follow."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """By row of the running, as in `engine.snapshot.Running`."""

    wanted: Mapping[int, int]
    fixed: frozenset[int]
    parts: Mapping[int, int]


def read_sizes(runs: Sequence[int]) -> Sizes:
    """`runs` are the rows' runs; a number below 0 stands for the pods that leave the run of that number."""
    row_of = {run: row for row, run in enumerate(runs)}
    return Sizes(
        wanted={row_of[run]: size for run, size in fetch(_WANTED) if run in row_of},
        fixed=frozenset(row_of[run] for (run,) in fetch(_FIXED) if run in row_of),
        parts={row: row_of[-run] for run, row in row_of.items() if run < 0 and -run in row_of},
    )
