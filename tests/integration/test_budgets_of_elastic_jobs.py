"""What a running job grows by has to be covered by a hard budget as well (BIL-10, SCH-10)."""

from decimal import Decimal

import pytest

from scheduling.models import EffectivePrice
from tenants.models import BudgetGate
from tests.integration.elastic_jobs import a_job_of_two_that_may_grow, pods, running, sizes
from tests.integration.loop_scene import MORNING, Scene


@pytest.mark.parametrize(
    ("limit", "want", "reserved"),
    [
        pytest.param("86.50", [(2, 4, "idle-cards")], "80", id="as much as it takes to the end"),
        pytest.param("79.99", [], "0", id="a cent too little"),
    ],
)
def test_a_job_grows_where_its_budget_covers_the_rest_of_its_run(
    scene: Scene, limit: str, want: list[tuple[int, int, str]], reserved: str
) -> None:
    """Sixteen cards more at 5 an hour for the hour that is left of what it declares."""
    job = a_job_of_two_that_may_grow(scene, expected_runtime_s=3600 + 135)
    started = scene.run_of(job).started_at
    EffectivePrice.objects.create(
        tenant=job.tenant, meter="card_hour", flavor=scene.flavor, price=Decimal(5), currency=job.tenant.currency,
        published_at=MORNING,
    )  # fmt: skip
    gate = BudgetGate.objects.create(
        tenant=job.tenant, currency=job.tenant.currency, limit_amount=Decimal(limit), hard_stop=True
    )
    assert started is not None

    scene.turn()
    scene.go_on(5)

    assert sizes(job) == want
    assert pods(job) == running(*range(4 if want else 2))
    gate.refresh_from_db()
    assert (gate.reserved, scene.run_of(job).budget_reserved) == (Decimal(reserved), Decimal(reserved))
