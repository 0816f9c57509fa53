"""Every process of a running platform is killed while jobs start, and its broker emptied, stopped and killed (F12 to F14, Q10).

No job is lost, doubled or stuck, and no second is billed twice.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest
from testplane.nodes import read
from testplane.plane import Plane

from tests.chaos.platform_rig import Platform, running_platform, wait_for

pytestmark = pytest.mark.timeout(600)

CARDS, PRICE, CENT = 8, Decimal("12.50"), Decimal("0.01")
SECONDS = {"simulated": 90, "kubernetes": 3}
"""How long a job runs, in its cluster's own time: 90 seconds there are a second and a half of ours."""


@pytest.fixture(scope="module", params=list(SECONDS))
def platform(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """With its simulated cluster, and on a control plane of its own."""
    folder = tmp_path_factory.mktemp("chaos") / "checkout"
    with ExitStack() as held:
        settings = {"BERTH_CLUSTER": request.param}
        if request.param == "kubernetes":
            settings["BERTH_KUBECONFIG"] = str(held.enter_context(Plane(node_groups=read())).kubeconfig())
        running = held.enter_context(running_platform(folder, "empty", **settings))
        wait_for(lambda: any(node["state"] == "ready" for node in running.ask("/nodes")["results"]), "its nodes")
        yield running


def submit(platform: Platform, name: str) -> int:
    """One job; whoever asks again with the same key gets the same job."""
    body = {
        "tenant": "team", "queue": "main", "name": name, "max_runtime": 3600,
        "labels": {"berth.dev/sim-duration": str(SECONDS[platform.settings["BERTH_CLUSTER"]])},
        "roles": [{"name": "worker", "replicas": 1, "image": "registry.example/train:1", "resources": {"gpu": CARDS}}],
    }  # fmt: skip
    return int(platform.ask("/jobs", body, **{"Idempotency-Key": name})["id"])


def job(platform: Platform, number: int) -> Any:
    return platform.ask(f"/jobs/{number}")


def wait_until_all_succeeded(platform: Platform, numbers: list[int]) -> list[Any]:
    wait_for(lambda: all(job(platform, number)["state"] == "succeeded" for number in numbers), "every job to succeed")
    wait_for(lambda: all(job(platform, number)["cost"]["final"] for number in numbers), "every cost to be final")
    return [job(platform, number) for number in numbers]


def assert_each_ran_once_and_is_billed_once(platform: Platform, found: list[Any]) -> None:
    """What its one pod was held for, by the cluster's own clock. A cluster may refuse a run at first, which costs nothing (F05)."""
    ran = {each["name"]: [run for run in each["runs"] if run["end_reason"] != "platform-fault"] for each in found}
    assert [(name, len(runs)) for name, runs in ran.items()] == [(each["name"], 1) for each in found], found
    expected = {each["id"]: CARDS * seconds_of(platform, each["id"]) for each in found}
    costs = {each["id"]: Decimal(each["cost"]["amount"]) for each in found}
    assert costs == {number: (held * PRICE / 3600).quantize(CENT, ROUND_HALF_UP) for number, held in expected.items()}
    wait_for(
        lambda: {number: billed_card_seconds(platform, number) for number in expected} == expected,
        f"the draft to hold the card-seconds of each job: {expected}",
    )


def seconds_of(platform: Platform, number: int) -> int:
    (pod,) = (pod for pod in platform.ask(f"/jobs/{number}/pods")["results"] if pod["started_at"])
    ran = (datetime.fromisoformat(pod["finished_at"]) - datetime.fromisoformat(pod["started_at"])).total_seconds()
    wanted = SECONDS[platform.settings["BERTH_CLUSTER"]]
    # A pretended node counts in whole seconds and comes to a pod when it can; a simulated one is exact.
    assert wanted <= ran <= (wanted if platform.settings["BERTH_CLUSTER"] == "simulated" else 60), (number, ran)
    return int(ran)


def billed_card_seconds(platform: Platform, number: int) -> int:
    """In the drafts, which are brought up to date some seconds after a job's end: two of them where a month turns meanwhile."""
    drafts = platform.ask("/statements?tenant=team&state=draft")["results"]
    lines = [
        line
        for draft in drafts
        for line in platform.ask(f"/statements/{draft['number']}/lines?job={number}")["results"]
    ]
    return sum(line["card_seconds"] or 0 for line in lines)


def test_whichever_process_is_killed_while_jobs_start_all_run_once(platform: Platform) -> None:
    numbers = []
    for name in ("worker", "beat", "watch", "web"):
        numbers += [submit(platform, f"{name}-{serial}") for serial in range(3)]
        killed = platform.send(name, signal.SIGKILL)
        numbers.append(submit(platform, f"{name}-after"))
        wait_for(lambda name=name, killed=killed: set(platform.pids(name)) - set(killed) != set(), f"a new {name}")  # type: ignore[misc]

    found = wait_until_all_succeeded(platform, numbers)

    assert len(set(numbers)) == len(numbers)
    assert_each_ran_once_and_is_billed_once(platform, found)


def test_an_emptied_stopped_and_killed_broker_delays_nothing_and_the_worker_takes_up_again(platform: Platform) -> None:
    """F12, F13, F14, Q10: the worker's own process stays, and what only it does goes on afterwards."""
    worker = platform.pids("worker")[0]
    numbers = [submit(platform, "before")]
    platform.valkey("FLUSHALL")
    numbers.append(submit(platform, "emptied"))
    (broker,) = platform.send("valkey", signal.SIGSTOP)
    numbers.append(submit(platform, "stopped"))
    wait_for(lambda: job(platform, numbers[-1])["state"] in ("running", "succeeded"), "a start without a broker")
    os.kill(broker, signal.SIGCONT)
    platform.send("valkey", signal.SIGKILL)
    numbers.append(submit(platform, "killed"))
    wait_for(lambda: platform.pids("valkey") not in ([], [broker]), "a new broker")

    found = wait_until_all_succeeded(platform, numbers)

    assert_each_ran_once_and_is_billed_once(platform, found)
    assert worker in platform.pids("worker")
    billed_to = draft_billed_to(platform)
    wait_for(lambda: draft_billed_to(platform) > billed_to, "the worker to bring the draft up to date")


def draft_billed_to(platform: Platform) -> str:
    return str(platform.ask("/statements?tenant=team&state=draft")["results"][0]["billed_to"])
