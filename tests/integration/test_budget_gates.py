"""What a budget lets through: reservations by guarded updates (BIL-10)."""

import threading
from decimal import Decimal
from typing import Any

import pytest
from django.db import connections

from tenants.models import BudgetGate, Queue
from tenants.services.budget import release_budget, reserve_budget
from tests.factories import a_queue

DEADLINE_S = 30


def _gate(
    queue: Queue, *, limit: str | None, hard: bool = True, whole_tenant: bool = True, spent: str = "0"
) -> BudgetGate:
    return BudgetGate.objects.create(
        tenant=queue.tenant,
        queue=None if whole_tenant else queue,
        currency="CNY",
        limit_amount=None if limit is None else Decimal(limit),
        hard_stop=hard,
        spent=Decimal(spent),
    )


def _names(queue: Queue) -> dict[str, Any]:
    return {"tenant_id": queue.tenant_id, "queue_id": queue.pk, "project_id": None, "currency": "CNY"}


@pytest.mark.django_db
def test_work_without_a_gate_passes() -> None:
    assert reserve_budget(**_names(a_queue()), amount=Decimal(10))


@pytest.mark.django_db
def test_a_hard_stop_counts_what_is_spent_and_what_is_reserved() -> None:
    queue = a_queue()
    gate = _gate(queue, limit="100", spent="40")

    outcomes = [reserve_budget(**_names(queue), amount=Decimal(30)) for _start in range(3)]

    assert outcomes == [True, True, False]
    gate.refresh_from_db()
    assert gate.reserved == 60


@pytest.mark.django_db
@pytest.mark.parametrize(("limit", "hard"), [("1", False), (None, True)])
def test_a_soft_limit_or_none_lets_everything_through(limit: str | None, hard: bool) -> None:
    queue = a_queue()
    _gate(queue, limit=limit, hard=hard)

    assert reserve_budget(**_names(queue), amount=Decimal(10))


@pytest.mark.django_db
def test_one_closed_gate_leaves_the_others_untouched() -> None:
    queue = a_queue()
    wide, narrow = _gate(queue, limit="100"), _gate(queue, limit="5", whole_tenant=False)

    assert not reserve_budget(**_names(queue), amount=Decimal(10))

    for gate in (wide, narrow):
        gate.refresh_from_db()
        assert gate.reserved == 0


@pytest.mark.django_db
def test_settling_gives_the_reservation_back_and_adds_what_was_spent() -> None:
    queue = a_queue()
    gate = _gate(queue, limit="100")
    reserve_budget(**_names(queue), amount=Decimal(30))

    release_budget(**_names(queue), amount=Decimal(30), spent=Decimal("12.5"))
    release_budget(**_names(queue), amount=Decimal(30))

    gate.refresh_from_db()
    assert (gate.reserved, gate.spent) == (Decimal(0), Decimal("12.5"))


@pytest.mark.django_db
def test_a_queues_gate_is_not_passed_by_another_queue() -> None:
    queue = a_queue()
    _gate(queue, limit="0", whole_tenant=False)

    assert reserve_budget(**_names(a_queue(tenant=queue.tenant)), amount=Decimal(1))
    assert not reserve_budget(**_names(queue), amount=Decimal(1))


@pytest.mark.django_db(transaction=True)
def test_starts_at_once_do_not_pass_the_limit_together() -> None:
    queue = a_queue()
    gate = _gate(queue, limit="100")
    barrier = threading.Barrier(5, timeout=DEADLINE_S)
    outcomes: list[bool] = []

    def start() -> None:
        try:
            barrier.wait()
            outcomes.append(reserve_budget(**_names(queue), amount=Decimal(40)))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=start) for _start in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)

    gate.refresh_from_db()
    assert (sorted(outcomes), gate.reserved) == ([False, False, False, True, True], Decimal(80))
