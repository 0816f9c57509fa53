"""Every process of a running platform is killed while jobs start, and its broker emptied, stopped and killed (F12 to F14, Q10).

No job is lost, doubled or stuck, and no second is billed twice.
"""

import os
import signal
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tests.chaos.platform_rig import Platform, running_platform, wait_for

pytestmark = pytest.mark.timeout(600)

CARDS, SECONDS, PRICE = 8, 90, Decimal("12.50")
COST = (CARDS * SECONDS * PRICE / 3600).quantize(Decimal("0.01"))
"""Eight cards for 90 simulated seconds: 2.50 CNY."""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with running_platform(tmp_path_factory.mktemp("chaos") / "checkout", "empty") as running:
        yield running


def submit(platform: Platform, name: str) -> int:
    """One job; whoever asks again with the same key gets the same job."""
    body = {
        "tenant": "team", "queue": "main", "name": name, "max_runtime": 3600,
        "labels": {"berth.dev/sim-duration": str(SECONDS)},
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
    assert [(each["name"], len(each["runs"]), each["cost"]["amount"]) for each in found] == [
        (each["name"], 1, str(COST)) for each in found
    ]
    expected = {each["id"]: CARDS * SECONDS for each in found}
    wait_for(
        lambda: {number: billed_card_seconds(platform, number) for number in expected} == expected,
        f"the draft to hold {CARDS * SECONDS} card-seconds of each job",
    )


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
