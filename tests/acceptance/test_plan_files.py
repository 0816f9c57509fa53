"""The worked cases of cases/scheduling.md as plan files: what `plan --json` must say of each, in the file's second document.

`starts` is job -> nodes of its pods, `preempts` job -> parts of the entry, both complete where given; `waits` job -> parts of the
entry; `resizes` as they are; `waiting` jobs that wait, whatever the code; `own` and `borrowed` job -> parts; `shares` name -> parts.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.common.reasons import wait_message
from scheduling.engine.cycle import run_cycle
from scheduling.simulator.plan_file import parse_plan
from scheduling.simulator.plan_json import plan_document

FILES = sorted((Path(__file__).parent / "plan").glob("*.yaml"))


def decide(text: str) -> dict[str, Any]:
    question = parse_plan(text, "plan.yaml", lambda name: (Path(__file__).parent / "plan" / name).read_text())
    plan = run_cycle(question.snapshot, question.policy, question.now_ms)
    document: dict[str, Any] = json.loads(json.dumps(plan_document(plan, question.snapshot, wait_message)))
    return document


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_worked_case_is_decided_as_written(path: Path) -> None:
    text, _, wanted = path.read_text().partition("\n---\n")
    want = yaml.safe_load(wanted)

    got = decide(text)

    starts = {entry["job"]: entry for entry in got["starts"]}
    waits = {entry["job"]: entry for entry in got["waits"]}
    preempts = {entry["job"]: entry for entry in got["preempts"]}
    if "starts" in want:
        placed = {job: sorted(pod["node"] for pod in entry["pods"]) for job, entry in starts.items()}
        assert placed == {job: sorted(nodes) for job, nodes in want["starts"].items()}, got["waits"]
    if "preempts" in want:
        assert sorted(preempts) == sorted(want["preempts"])
    if "resizes" in want:
        assert got["resizes"] == want["resizes"]
    assert set(want.get("waiting", ())) <= set(waits)
    _assert_parts(preempts, want.get("preempts", {}))
    _assert_parts(waits, want.get("waits", {}))
    _assert_parts(got["shares"], want.get("shares", {}))
    for split in ("own", "borrowed"):
        _assert_parts({job: entry[split] for job, entry in starts.items()}, want.get(split, {}))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_pending_job_is_in_exactly_one_of_starts_and_waits(path: Path) -> None:
    text = path.read_text().partition("\n---\n")[0]
    pending = sorted(entry["job"] for entry in yaml.safe_load(text).get("pending") or ())

    got = decide(text)

    assert list(got) == ["starts", "preempts", "resizes", "waits", "shares"]
    assert sorted(entry["job"] for entry in (*got["starts"], *got["waits"])) == pending


def _assert_parts(got: dict[str, Any], want: dict[str, Any]) -> None:
    for name, parts in want.items():
        assert name in got, (name, sorted(got))
        assert _common(got[name], parts or {}) == (parts or {}), (name, got[name])


def _common(got: Any, want: Any) -> Any:
    """What `got` says about the keys of `want`, at any depth."""
    if isinstance(got, dict) and isinstance(want, dict):
        return {key: _common(got.get(key), part) for key, part in want.items()}
    return got
