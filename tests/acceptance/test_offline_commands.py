"""`plan` and `simulate` as a person runs them: without a database, exit codes, what goes where, the files under docs/examples."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
NOWHERE = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none", "REDIS_URL": "redis://127.0.0.1:1/0"}


def manage(*arguments: str, seed: str = "0", zone: str = "UTC") -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"}
    environment = {**inherited, **NOWHERE, "PYTHONHASHSEED": seed, "TZ": zone}
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100, check=False)


def example(name: str) -> str:
    return str((EXAMPLES / name).relative_to(ROOT))


def simulate(out: Path, *, seed: str = "0") -> subprocess.CompletedProcess[str]:
    files = ("--cluster", example("simulate/cluster.yaml"), "--jobs", example("simulate/jobs.csv"))
    return manage(
        "simulate", *files, "--policy", example("simulate/policy.yaml"), "--out", str(out), "--seed", "7", seed=seed
    )


def test_plan_prints_exactly_the_contracts_keys_and_names_the_victim() -> None:
    result = manage("plan", example("plan/lending.yaml"), "--json")

    assert (result.returncode, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert list(document) == ["starts", "preempts", "resizes", "waits", "shares"]
    assert document["preempts"] == [{"job": "b-new", "for": "a-train", "reason": "reclaim-nominal", "grace_s": 300}]
    assert document["waits"][0]["code"] == "kept-for-preempted"
    assert document["waits"][0]["kept"] == ["n001"]
    assert document["shares"]["b/dev"]["over_quota_permille"] == 500


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("gang", "gang: cards-busy"),
        ("backfill", "short: on n001; 4 own + 0 borrowed cards"),
        ("many-roles", "recommender: on cpu0 (2 pods), gpu0, gpu1; 16 own + 0 borrowed cards"),
    ],
)
def test_plan_explains_the_examples_in_words(name: str, want: str) -> None:
    result = manage("plan", example(f"plan/{name}.yaml"))

    assert result.returncode == 0
    assert want in result.stdout


def test_plan_prints_every_instant_in_one_format_with_its_zone() -> None:
    text = manage("plan", example("plan/backfill.yaml")).stdout

    assert "ends before 2026-11-29 11:00 UTC" in text
    assert "Reserved from 2026-11-29 11:00 UTC." in text
    assert re.findall(r"\d{4}-\d\d-\d\d(?! \d\d:\d\d UTC)", text) == []


def test_plan_prints_the_same_instants_whatever_zone_the_machine_keeps() -> None:
    here, elsewhere = (
        manage("plan", example("plan/backfill.yaml"), "--json", zone=zone).stdout for zone in ("UTC", "Asia/Shanghai")
    )

    assert here == elsewhere
    assert "ends before 2026-11-29 11:00 UTC" in here


def test_plan_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    first, second = (manage("plan", example("plan/backfill.yaml"), "--json", seed=seed).stdout for seed in ("1", "4"))

    assert first == second != ""


def test_a_wrong_plan_file_is_listed_on_stderr_with_exit_code_2(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text('now: "today"\ncluster: {nodes: [{name: n0, gpu: 8}]}\npending: [{job: j}]\n')

    result = manage("plan", str(path))

    assert (result.returncode, result.stdout) == (2, "")
    assert [line.split(": ")[0] for line in result.stderr.splitlines()] == [f"{path}:{line}" for line in (1, 2, 3)]


def test_a_file_that_is_not_there_is_one_line_with_exit_code_2() -> None:
    result = manage("plan", "nowhere.yaml")

    assert (result.returncode, result.stderr) == (2, "nowhere.yaml:1: cannot be read: No such file or directory\n")


def test_simulate_writes_summary_and_jobs_and_nothing_depends_on_the_hash_seed(tmp_path: Path) -> None:
    first, second = simulate(tmp_path / "1", seed="1"), simulate(tmp_path / "2", seed="3")

    assert (first.returncode, second.returncode) == (0, 0)
    summaries = [json.loads((tmp_path / run / "summary.json").read_text()) for run in ("1", "2")]
    assert json.loads(first.stdout) == summaries[0]
    assert {**summaries[0], "plan_ms": 0} == {**summaries[1], "plan_ms": 0}
    assert (tmp_path / "1" / "jobs.csv").read_bytes() == (tmp_path / "2" / "jobs.csv").read_bytes()
    assert summaries[0]["finished"] == 6
    assert summaries[0]["preemptions"] == 1


def test_a_placement_contest_reads_shares_and_a_seed(tmp_path: Path) -> None:
    """SCH-12: the same seed gives the same places, another one others; the other presets read no seed."""
    cluster, jobs = tmp_path / "cluster.yaml", tmp_path / "jobs.csv"
    cluster.write_text(
        'flavors: {g: {cards: any}}\nnodes: [{count: 9, name: "n{i}", flavor: g, gpus: 4, cpu: 8}]\n'
        "tenants: [{name: a, queues: [{name: q}]}]\n"
    )
    rows = "".join(f"j{i:02d},a,q,{i},,1,0.4\n" for i in range(40))
    jobs.write_text("job_id,tenant,queue,submit_s,duration_s,pods,gpus_per_pod\n" + rows)

    def places(preset: str, seed: str) -> str:
        out = tmp_path / f"{preset}-{seed}"
        files = ("--cluster", str(cluster), "--jobs", str(jobs), "--policy", preset, "--out", str(out), "--seed", seed)
        result = manage("simulate", *files)
        assert (result.returncode, result.stderr) == (0, "")
        return (out / "jobs.csv").read_text()

    assert places("placement-random", "1") != places("placement-random", "2")
    assert places("placement", "1") == places("placement", "2")


def test_simulate_lists_bad_rows_of_all_files_with_exit_code_2(tmp_path: Path) -> None:
    jobs, policy = tmp_path / "jobs.csv", tmp_path / "policy.yaml"
    jobs.write_text("job_id,tenant,queue,submit_s,duration_s,pods,gpus_per_pod\nj1,z,main,0,1,1,1\nj2,a,main,x,1,1,1\n")
    policy.write_text("tetris\n")

    result = manage(
        "simulate", "--cluster", example("simulate/cluster.yaml"), "--jobs", str(jobs), "--policy", str(policy)
    )

    assert result.returncode == 2
    assert f"{jobs}:2: tenant: unknown tenant 'z'; known: a, b" in result.stderr
    assert f"{jobs}:3: submit_s: must be a number, is 'x'" in result.stderr
    assert f"{policy}:1: unknown preset 'tetris'; supported: " in result.stderr
