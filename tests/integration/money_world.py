"""A small world for money: one tenant, one pool with two flavors, a price book, and usage written as an import file."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import count
from typing import Any

from berth.common.instants import parse_instant
from billing.metering import Month
from billing.models import PriceBook, Rate, Statement, StatementLine
from billing.services.closing import close_period
from billing.services.drafts import refresh_tenant
from billing.services.prices import NewRate, create_rate
from billing.services.usage_file import COLUMNS, LAST_ALIVE
from billing.services.usage_import import Import, import_usage
from tenants.models import Cluster, Flavor, Pool, Queue, Tenant

_ids = count(1)
CREATED = parse_instant("2016-01-01T00:00:00Z")


def at(text: str) -> datetime:
    """An instant, as ISO text with an offset."""
    return parse_instant(text)


@dataclass
class MoneyWorld:
    """Tenant `algo` with queue `prod`, flavors `h100` at 12.50 CNY and `a100` at 6.00 CNY an hour since 2016."""

    zone: str = "Asia/Shanghai"
    currency: str = "CNY"
    tenant: Tenant = field(init=False)
    queue: Queue = field(init=False)
    pool: Pool = field(init=False)
    book: PriceBook = field(init=False)
    flavors: dict[str, Flavor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cluster = Cluster.objects.create(name="c1")
        self.pool = Pool.objects.create(name="shared", cluster=cluster)
        for name in ("h100", "a100"):
            self.flavors[name] = Flavor.objects.create(name=name, pool=self.pool)
        self.tenant, self.queue = self.add_tenant("algo")
        self.book = PriceBook.objects.create(name="list", currency=self.currency, created_at=CREATED)

    def with_prices(self) -> "MoneyWorld":
        """The list prices."""
        self.price("12.50", flavor="h100")
        self.price("6.00", flavor="a100")
        return self

    def add_tenant(self, slug: str) -> tuple[Tenant, Queue]:
        """Another tenant with a queue `prod` in the same pool."""
        tenant = Tenant.objects.create(
            slug=slug, name=slug, billing_timezone=self.zone, currency=self.currency, created_at=CREATED
        )
        return tenant, Queue.objects.create(tenant=tenant, name="prod", pool=self.pool, default_tier="production")

    def price(
        self,
        amount: str,
        *,
        flavor: str | None = "h100",
        meter: str = "card_hour",
        start: datetime = CREATED,
        end: datetime | None = None,
        tenant: Tenant | None = None,
    ) -> Rate:
        """A rate in the list."""
        return create_rate(
            NewRate(
                price_book=self.book,
                meter=meter,
                price=Decimal(amount),
                valid_from=start,
                valid_to=end,
                flavor=self.flavors[flavor] if flavor else None,
                tenant=tenant,
            )
        )

    def load(self, *rows: str) -> Import:
        """Import rows and fail on any problem."""
        done = import_usage(csv_of(rows))
        assert done.problems == []
        return done

    def close(self, month: str, tenant: Tenant | None = None) -> Statement:
        """Close a month."""
        return close_period(tenant or self.tenant, Month.parse(month))

    def draft(self, month: str, tenant: Tenant | None = None) -> Statement:
        """The month's draft, brought up to now."""
        tenant = tenant or self.tenant
        refresh_tenant(tenant.pk)
        return Statement.objects.get(tenant=tenant, period__label=month, superseded_at__isnull=True)


def row(
    start: str,
    end: str,
    *,
    card: str = "0",
    node: str = "n000",
    job: str = "1",
    run: int = 1,
    flavor: str = "h100",
    tenant: str = "algo",
    queue: str = "prod",
    user: str = "ann",
    reason: str = "succeeded",
    borrowed: bool = False,
    last_alive: str = "",
    event: str = "",
    source: str = "slurm",
) -> str:
    """One line of a usage file."""
    event = event or f"e{next(_ids)}"
    cells = [source, event, tenant, queue, user, job, str(run), flavor, node, card, start, end, reason]
    return ",".join([*cells, "true" if borrowed else "false", last_alive])


def cards(number: int, start: str, end: str, **columns: Any) -> list[str]:
    """Rows of one job that holds the first cards of a node."""
    return [row(start, end, card=str(card), **columns) for card in range(number)]


def csv_of(rows: Iterable[str]) -> list[str]:
    """A usage file of the rows."""
    return [",".join([*COLUMNS, LAST_ALIVE]), *rows]


def hours(line: StatementLine) -> Decimal:
    """Card-hours of a line."""
    return line.quantity / 7000 / 3600


def amounts(statement: Statement, **of: object) -> list[str]:
    """Amounts of a statement's lines, in the order they were made, with two decimals."""
    return [f"{line.amount:.2f}" for line in statement.lines.filter(**of)]
