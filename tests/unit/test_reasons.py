"""The reason registry: every code of the contract has a text with a resource, a number and a step, and docs list them."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from django.utils import translation

from berth.common import reasons
from scheduling.engine.plan import Wait
from scheduling.engine.vocabulary import PreemptReason, WaitCode

ROOT = Path(__file__).resolve().parents[2]
END_REASONS = {
    *("succeeded", "failed", "oom", "gpu-oom", "cancelled", "timeout", "preempted", "node-lost", "card-failed"),
    *("image-pull", "start-timeout", "evicted", "platform-fault"),
}


def test_the_codes_are_the_contracts_in_its_order() -> None:
    assert list(reasons.WAITS) == [code.value for code in WaitCode]
    assert list(reasons.PREEMPTS) == [reason.value for reason in PreemptReason]
    assert set(reasons.ENDS) == END_REASONS


@pytest.mark.parametrize("code", list(reasons.WAITS))
def test_every_wait_names_an_amount_and_ends_in_a_step(code: str) -> None:
    text, step = str(reasons.WAITS[code].text), str(reasons.WAITS[code].step)

    assert any(place in text for place in ("%(need)s", "%(short)s"))
    assert step.endswith(".")


@pytest.mark.parametrize("code", [*reasons.PREEMPTS, *reasons.ENDS])
def test_every_end_names_what_is_given_back_and_ends_in_a_step(code: str) -> None:
    reason = {**reasons.PREEMPTS, **reasons.ENDS}[code]

    assert "%(held)s" in str(reason.text)
    assert str(reason.step).endswith(".")


@pytest.mark.parametrize("code", list(reasons.SUGGESTIONS))
def test_every_suggestion_names_a_number(code: str) -> None:
    assert "%(hint)s" in str(reasons.SUGGESTIONS[code])


@pytest.mark.parametrize("code", list(WaitCode))
def test_a_message_can_be_made_of_any_wait(code: WaitCode) -> None:
    with translation.override("en"):
        bare = reasons.wait_message(Wait(job="j", code=code))
        full = reasons.wait_message(
            Wait(job="j", code=code, need={"gpu": 8000}, have={"gpu": 3000}, short={"gpu": 5000})
        )

    assert "%(" not in bare + full
    assert "8 cards" in full or "5 cards" in full


def test_amounts_are_written_with_their_units() -> None:
    amounts = {"gpu": 1500, "gpu:a100": 1500, "cpu": 1000, "memory_gib": 1536, "vram_gib": 81920, "nodes": 2}

    with translation.override("en"):
        text = reasons.amounts_text(amounts)

    assert text == "1.5 cards (a100), 1 CPU core, 1.5 GiB memory, 80 GiB card memory, 2 nodes"


def test_a_suggestion_with_its_number_takes_the_place_of_the_step() -> None:
    wait = Wait(
        "j",
        WaitCode.CARDS_BUSY,
        {"gpu": 8000},
        {"gpu": 3000},
        {"gpu": 5000},
        suggestion="fewer-cards",
        hint={"gpu": 3000},
    )

    with translation.override("en"):
        text = reasons.wait_message(wait)

    assert (
        text
        == "Too few cards are free. Asked: 8 cards; free: 3 cards; short: 5 cards. Ask for less: 3 cards would start now."
    )


def test_the_documentation_lists_the_registry() -> None:
    with translation.override("en"):
        want = _writer().render()

    assert (ROOT / "docs" / "reasons.md").read_text(encoding="utf-8") == want


def _writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_reasons", ROOT / "docs" / "write_reasons.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
