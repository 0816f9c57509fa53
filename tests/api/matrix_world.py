"""One of everything that an address of the API can name, all of tenant `algo`, and six people who come to it."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from berth.common import clock
from billing.models import Rate, Statement
from billing.services.adjustments import post_adjustment
from scheduling.models import Cycle, Job, Reservation
from tenants.models import ApiToken, Queue, QuotaRequest, QuotaTransfer, User
from tests.factories import (
    a_finance_user,
    a_job,
    a_member_of,
    a_membership,
    a_node,
    a_platform_admin,
    a_tenant,
    a_token,
    a_user,
    an_admin_of,
)
from tests.integration.money_world import MoneyWorld, row

PEOPLE = ("anonymous", "outsider", "member", "admin", "finance", "platform")
"""In the order of the columns. The outsider is the admin of another tenant: the strongest stranger there is."""


@dataclass(frozen=True)
class MatrixWorld:
    people: dict[str, User | None]
    params: dict[str, dict[str, str]]
    """By the first segment of the address: what stands for its places."""


def build() -> MatrixWorld:
    """The rows; names are fixed, so that bodies of the table can use them."""
    money = MoneyWorld().with_prices()
    money.load(row("2026-10-05T00:00:00Z", "2026-10-05T01:00:00Z"))
    statement = money.draft("2026-10")
    tenant, queue = money.tenant, money.queue
    node = a_node("n1", flavor=money.flavors["h100"])
    job = a_job(queue)
    people: dict[str, User | None] = {
        "anonymous": None,
        "outsider": an_admin_of(a_tenant("elsewhere")),
        "member": a_member_of(tenant),
        "admin": an_admin_of(tenant),
        "finance": a_finance_user(),
        "platform": a_platform_admin(),
    }
    a_membership(a_user("colleague"), tenant)
    return MatrixWorld(people, _params(money, statement, job, node.cluster.name, _asked(queue, people["admin"])))


def _asked(queue: Queue, user: User | None) -> QuotaRequest:
    assert user is not None
    return QuotaRequest.objects.create(
        queue=queue, resource="cpu", amount=1000, reason="x", asked_by=user, asked_at=clock.now()
    )


def _params(
    money: MoneyWorld, statement: Statement, job: Job, cluster: str, asked: QuotaRequest
) -> dict[str, dict[str, str]]:
    at = clock.now()
    other = Queue.objects.create(tenant=money.tenant, name="dev", pool=money.pool)
    transfer = QuotaTransfer.objects.create(
        giver=money.queue, receiver=other, resource="cpu", amount=1, valid_from=at, valid_to=at + timedelta(days=1)
    )
    adjustment = post_adjustment(money.tenant, None, amount=Decimal(-1), reason="a correction")
    line = statement.lines.order_by("id").first()
    rate = Rate.objects.order_by("id").first()
    assert line is not None
    assert rate is not None
    return {
        "adjustments": {"id": str(adjustment.pk)},
        "cycles": {"id": str(Cycle.objects.create(epoch=1, at=at, wall_at=at).pk)},
        "flavors": {"name": "h100"},
        "jobs": {"id": str(job.pk)},
        "nodes": {"cluster": cluster, "name": "n1", "index": "0"},
        "periods": {"period": "2026-10"},
        "pools": {"name": "shared"},
        "price-books": {"id": str(money.book.pk)},
        "queues": {"tenant": "algo", "name": "prod"},
        "quota-requests": {"id": str(asked.pk)},
        "quota-transfers": {"id": str(transfer.pk)},
        "rates": {"id": str(rate.pk)},
        "reservations": {
            "id": str(Reservation.objects.create(kind="manual", queue=other, from_at=at, created_at=at).pk)
        },
        "runs": {"run_id": "1"},
        "statements": {"number": statement.number, "id": str(line.pk)},
        "tenants": {"slug": "algo", "username": "colleague"},
        "tokens": {"id": str(_token_of_a_stranger())},
    }


def _token_of_a_stranger() -> int:
    """Tokens are their user's own: nobody in the table finds this one."""
    stranger = a_user("stranger")
    a_token(stranger)
    return ApiToken.objects.get(user=stranger).pk
