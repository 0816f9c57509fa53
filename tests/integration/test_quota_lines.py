"""Quota as admins write it: lines with their history, sums against what the pool has (SCH-03, SCH-15)."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections

from berth.common import clock
from berth.common.errors import ForbiddenError, InvalidError, NotFoundError
from tenants.models import AuditEvent, Flavor, Queue, Quota
from tenants.services.capacity import record_capacity
from tenants.services.queues import change_queue, create_queue
from tests.factories import (
    a_cohort,
    a_flavor,
    a_member_of,
    a_platform_admin,
    a_pool,
    a_queue,
    a_quota,
    a_tenant,
    an_admin_of,
)

AT = datetime(2026, 11, 29, 10, tzinfo=UTC)
DEADLINE_S = 30


def _wrong(call: Callable[[], Any]) -> dict[str, str]:
    with pytest.raises(InvalidError) as refused:
        call()
    return {problem.field: problem.code for problem in refused.value.problems}


@pytest.fixture
def flavor(db: None) -> Flavor:
    """100 cards, granted at 1.2: 120 may be given away."""
    return a_flavor("a100-80g", pool=a_pool("shared", factor="1.2", cpu=1000, memory_gib=4000), cards=100)


def test_a_queue_is_opened_with_its_lines_in_the_units_used_inside(flavor: Flavor) -> None:
    a_tenant("algo-a")

    queue = create_queue(
        by=a_platform_admin(),
        tenant="algo-a",
        name="prod",
        pool="shared",
        environment="prod",
        default_tier="production",
        quota={
            "gpu": {"a100-80g": {"nominal": 64.5, "borrowing_limit": 0, "lending_limit": None}},
            "cpu": {"nominal": 512, "mode": "dynamic"},
            "memory": {"nominal": 1024, "borrowing_limit": 0.5},
        },
    )

    lines = Quota.objects.filter(queue=queue).order_by("resource")
    assert [(line.resource, line.nominal, line.borrowing_limit, line.lending_limit, line.mode) for line in lines] == [
        ("cpu", 512_000, None, None, "dynamic"),
        ("gpu", 64_500, 0, None, "static"),
        ("memory", 1024 * 1024, 512, None, "static"),
    ]
    assert AuditEvent.objects.get(action="queue.create").tenant == queue.tenant


def test_a_change_closes_the_old_line_and_opens_a_new_one(flavor: Flavor) -> None:
    queue = a_queue(cards={flavor: 10})

    with clock.frozen_at(AT):
        change_queue(by=a_platform_admin(), queue=queue, quota={"gpu": {"a100-80g": {"nominal": 20}}})

    old, new = Quota.objects.filter(queue=queue).order_by("valid_from")
    assert (old.nominal, old.valid_to) == (10_000, AT)
    assert (new.nominal, new.valid_from, new.valid_to) == (20_000, AT, None)


def test_two_changes_at_one_instant_leave_one_line(flavor: Flavor) -> None:
    queue, admin = a_queue(cards={flavor: 10}), a_platform_admin()

    with clock.frozen_at(AT):
        for nominal in (20, 30):
            change_queue(by=admin, queue=queue, quota={"gpu": {"a100-80g": {"nominal": nominal}}})

    assert list(Quota.objects.filter(queue=queue).order_by("valid_from").values_list("nominal", flat=True)) == [
        10_000,
        30_000,
    ]


def test_null_ends_a_line_and_lines_that_are_not_named_stay(flavor: Flavor) -> None:
    queue = a_queue(cards={flavor: 10})
    a_quota(queue, resource="cpu", nominal=100)

    with clock.frozen_at(AT):
        change_queue(by=a_platform_admin(), queue=queue, quota={"gpu": {"a100-80g": None}})

    assert list(Quota.objects.filter(queue=queue, valid_to__isnull=True).values_list("resource", flat=True)) == ["cpu"]


def test_a_flavor_without_its_pool_suffix_is_the_pools_own(db: None) -> None:
    pool = a_pool()
    a_flavor("h800@ext", pool=pool, cards=8)
    queue = a_queue(pool=pool)

    change_queue(by=a_platform_admin(), queue=queue, quota={"gpu": {"h800": {"nominal": 8}}})

    assert Quota.objects.get(queue=queue, flavor__name="h800@ext").nominal == 8000


def test_more_than_physical_times_factor_is_refused_with_the_numbers(flavor: Flavor) -> None:
    """SCH-15: 100 cards at factor 1.2 are 120; 60 and 60 fit, 60 and 60.001 do not."""
    admin = a_platform_admin()
    a_queue(cards={flavor: 60})
    queue = a_queue(pool=flavor.pool)

    change_queue(by=admin, queue=queue, quota={"gpu": {"a100-80g": {"nominal": 60}}})
    with pytest.raises(InvalidError) as refused:
        change_queue(by=admin, queue=queue, quota={"gpu": {"a100-80g": {"nominal": 60.001}}})

    [problem] = refused.value.problems
    assert (problem.field, problem.code) == ("quota.gpu.a100-80g.nominal", "over-capacity")
    assert "120.001 cards" in str(problem.message)
    assert "100 cards × 1.2 = 120 cards" in str(problem.message)
    assert Quota.objects.get(queue=queue, valid_to__isnull=True).nominal == 60_000


def test_what_a_cohort_owns_counts_and_a_tenants_line_stands_for_its_queues(flavor: Flavor) -> None:
    """SCH-03: a cohort's nominal is an extra pool; a tenant's line is the total over its queues."""
    cohort = a_cohort()
    tenant = a_tenant(cohort=cohort)
    a_quota(cohort, flavor=flavor, nominal=20)
    a_quota(tenant, flavor=flavor, nominal=50)
    a_queue(tenant=tenant, cards={flavor: 30})
    queue = a_queue(pool=flavor.pool)
    admin = a_platform_admin()

    change_queue(by=admin, queue=queue, quota={"gpu": {"a100-80g": {"nominal": 50}}})

    assert _wrong(lambda: change_queue(by=admin, queue=queue, quota={"gpu": {"a100-80g": {"nominal": 51}}})) == {
        "quota.gpu.a100-80g.nominal": "over-capacity"
    }


def test_queues_together_stay_within_their_tenants_own_line(flavor: Flavor) -> None:
    tenant = a_tenant()
    a_quota(tenant, flavor=flavor, nominal=50)
    a_queue(tenant=tenant, cards={flavor: 30})
    queue = a_queue(tenant=tenant, pool=flavor.pool)

    assert _wrong(
        lambda: change_queue(by=a_platform_admin(), queue=queue, quota={"gpu": {"a100-80g": {"nominal": 21}}})
    ) == {"quota.gpu.a100-80g.nominal": "over-tenant"}


def test_what_shrinks_is_welcome_even_where_the_pool_has_lost_machines(flavor: Flavor) -> None:
    queue = a_queue(cards={flavor: 110})
    record_capacity(pool=flavor.pool, amounts={("gpu", flavor.pk): 50_000})
    admin = a_platform_admin()

    change_queue(by=admin, queue=queue, quota={"gpu": {"a100-80g": {"nominal": 90}}})

    assert _wrong(lambda: change_queue(by=admin, queue=queue, quota={"gpu": {"a100-80g": {"nominal": 91}}})) == {
        "quota.gpu.a100-80g.nominal": "over-capacity"
    }


def test_cpu_is_summed_over_the_pools_queues(flavor: Flavor) -> None:
    queue = a_queue(pool=flavor.pool)

    assert _wrong(lambda: change_queue(by=a_platform_admin(), queue=queue, quota={"cpu": {"nominal": 1201}})) == {
        "quota.cpu.nominal": "over-capacity"
    }


def test_every_wrong_field_is_told_at_once_and_nothing_is_stored(flavor: Flavor) -> None:
    a_tenant("algo-a")
    quota = {
        "gpu": {
            "a100-80g": {"nominal": -1, "borrowing_limit": "many", "lending": 3},
            "h100": {"nominal": 1},
        },
        "cpu": {"nominal": 0.0001, "mode": "wild"},
        "disk": {"nominal": 1},
        "memory": 5,
    }

    wrong = _wrong(
        lambda: create_queue(by=a_platform_admin(), tenant="algo-a", name="No Name", pool="shared", quota=quota)
    )

    assert wrong == {
        "name": "invalid",
        "quota.gpu.a100-80g.nominal": "out-of-range",
        "quota.gpu.a100-80g.borrowing_limit": "out-of-range",
        "quota.gpu.a100-80g.lending": "unknown-field",
        "quota.gpu.h100": "unknown",
        "quota.cpu.nominal": "too-fine",
        "quota.cpu.mode": "invalid",
        "quota.disk": "unknown-field",
        "quota.memory": "invalid",
    }
    assert not Queue.objects.exists()


def test_a_pool_of_another_tenant_is_as_good_as_unknown(db: None) -> None:
    a_pool("ext", tenant=a_tenant("ext-d"))
    a_tenant("algo-a")

    assert _wrong(lambda: create_queue(by=a_platform_admin(), tenant="algo-a", name="prod", pool="ext")) == {
        "pool": "unknown"
    }


def test_pool_and_environment_of_a_queue_stay(flavor: Flavor) -> None:
    queue = a_queue(pool=flavor.pool)

    assert _wrong(lambda: change_queue(by=a_platform_admin(), queue=queue, pool="other", environment="prod")) == {
        "environment": "read-only",
        "pool": "read-only",
    }


def test_tenants_do_not_write_their_own_quota(flavor: Flavor) -> None:
    queue = a_queue(pool=flavor.pool)

    with pytest.raises(ForbiddenError):
        change_queue(by=an_admin_of(queue.tenant), queue=queue, quota={"cpu": {"nominal": 1}})
    with pytest.raises(ForbiddenError):
        create_queue(by=an_admin_of(queue.tenant), tenant=queue.tenant.slug, name="more", pool=flavor.pool.name)
    with pytest.raises(NotFoundError):
        create_queue(by=a_member_of(a_tenant()), tenant=queue.tenant.slug, name="more", pool=flavor.pool.name)


@pytest.mark.django_db(transaction=True)
def test_two_admins_at_once_cannot_both_grant_the_last_cards() -> None:
    """W34: 100 cards; each of four asks for 60."""
    flavor = a_flavor("a100-80g", cards=100)
    queues = [a_queue(pool=flavor.pool) for _number in range(4)]
    admin = a_platform_admin()
    barrier = threading.Barrier(len(queues), timeout=DEADLINE_S)
    outcomes: list[str] = []

    def grant(queue: Queue) -> None:
        try:
            barrier.wait()
            change_queue(by=admin, queue=queue, quota={"gpu": {"a100-80g": {"nominal": 60}}})
            outcomes.append("granted")
        except InvalidError:
            outcomes.append("refused")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=grant, args=(queue,)) for queue in queues]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)

    assert sorted(outcomes) == ["granted", "refused", "refused", "refused"]


def test_a_later_line_counts_too(flavor: Flavor) -> None:
    """A raise that begins tomorrow has to fit beside what is granted today."""
    later = clock.now() + timedelta(days=1)
    a_quota(a_queue(pool=flavor.pool), flavor=flavor, nominal=100, valid_from=later)
    queue = a_queue(pool=flavor.pool)

    assert _wrong(
        lambda: change_queue(by=a_platform_admin(), queue=queue, quota={"gpu": {"a100-80g": {"nominal": 21}}})
    ) == {"quota.gpu.a100-80g.nominal": "over-capacity"}
