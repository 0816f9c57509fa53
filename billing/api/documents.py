"""What statements, lines and their sources look like from outside: money as decimal text, quantities as numbers."""

from decimal import Decimal
from typing import Any

from rest_framework import serializers

from berth.common.bodies import number
from berth.common.money import money_text
from berth.common.units import UNITS_PER_CARD
from billing.models import LedgerEntry, Statement, StatementLine
from billing.rating import CARD_METERS, UNITS, Meter, units

_DIGITS = 12


def price_text(price: Decimal, currency: str) -> str:
    """A unit price with all its digits, and at least the currency's."""
    least = money_text(price, currency)
    plain = f"{price.normalize():f}"
    return least if Decimal(least) == price else plain


def quantity_number(line: StatementLine) -> int | float | None:
    """The quantity in the line's unit; None for an adjustment."""
    if not line.meter:
        return None
    exact = units(Meter(line.meter), int(line.quantity))
    return number(round(Decimal(exact.numerator) / Decimal(exact.denominator), _DIGITS))


class StatementSerializer(serializers.Serializer[Any]):
    """`billed_to` is the instant up to which a draft knows usage."""

    number = serializers.CharField()
    tenant = serializers.CharField(source="tenant_slug")
    period = serializers.CharField(source="period.label")
    to = serializers.DateTimeField(source="period.ends_at")
    state = serializers.ChoiceField(choices=Statement.State.choices)
    total = serializers.SerializerMethodField()
    currency = serializers.CharField()
    version = serializers.IntegerField()
    billed_to = serializers.DateTimeField()
    issued_at = serializers.DateTimeField(allow_null=True)
    superseded_at = serializers.DateTimeField(allow_null=True)
    unpriced = serializers.CharField(help_text="What a draft leaves out because no price stands for it.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        return {"from": serializers.DateTimeField(source="period.starts_at"), **fields}

    def get_total(self, row: Statement) -> str:
        return money_text(row.total, row.currency)


class StatementDetailSerializer(StatementSerializer):
    """One statement, with the drafts it superseded."""

    name = serializers.CharField(source="tenant_name")
    cost_centre = serializers.CharField()
    superseded = serializers.ListField(child=serializers.CharField(), help_text="Numbers of earlier drafts.")


class LineSerializer(serializers.Serializer[Any]):
    """Excluded lines cost nothing and say why; `worth` is what they would have cost."""

    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=StatementLine.Kind.choices)
    meter = serializers.SerializerMethodField()
    flavor = serializers.SerializerMethodField()
    borrowed = serializers.BooleanField()
    quantity = serializers.SerializerMethodField()
    unit = serializers.SerializerMethodField()
    unit_price = serializers.SerializerMethodField()
    amount = serializers.SerializerMethodField()
    currency = serializers.CharField(source="statement.currency")
    job = serializers.IntegerField(source="job_id", allow_null=True)
    job_name = serializers.CharField()
    reason = serializers.CharField()
    held_as = serializers.CharField()
    worth = serializers.SerializerMethodField()
    card_seconds = serializers.SerializerMethodField()
    queue = serializers.CharField(source="queue_name")
    user = serializers.CharField(source="user.username", default=None, allow_null=True)
    project = serializers.CharField(source="project_name")
    charged_period = serializers.CharField(source="charged_period.label", default=None, allow_null=True)
    to = serializers.DateTimeField(source="charged_to", allow_null=True)
    rate = serializers.IntegerField(source="rate_id", allow_null=True)
    adjustment = serializers.IntegerField(source="adjustment_id", allow_null=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        return {**fields, "from": serializers.DateTimeField(source="charged_from", allow_null=True)}

    def get_meter(self, row: StatementLine) -> str | None:
        return row.meter or None

    def get_flavor(self, row: StatementLine) -> str | None:
        return row.flavor_name or None

    def get_quantity(self, row: StatementLine) -> float | None:
        return quantity_number(row)

    def get_unit(self, row: StatementLine) -> str | None:
        return UNITS[Meter(row.meter)] if row.meter else None

    def get_unit_price(self, row: StatementLine) -> str | None:
        return None if row.unit_price is None else price_text(row.unit_price, row.statement.currency)

    def get_amount(self, row: StatementLine) -> str:
        return money_text(row.amount, row.statement.currency)

    def get_worth(self, row: StatementLine) -> str | None:
        return None if row.worth is None else money_text(row.worth, row.statement.currency)

    def get_card_seconds(self, row: StatementLine) -> float | None:
        return number(row.quantity / UNITS_PER_CARD) if row.meter in CARD_METERS else None


class PartSerializer(serializers.Serializer[Any]):
    """One group of a view of a statement; all groups add up to its total."""

    key = serializers.CharField(allow_null=True)
    amount = serializers.CharField()


class SourceSerializer(serializers.Serializer[Any]):
    """One ledger entry behind a line, down to the cluster's own object."""

    id = serializers.IntegerField()
    to = serializers.DateTimeField(source="ends_at")
    seconds = serializers.IntegerField()
    cards = serializers.SerializerMethodField()
    held_as = serializers.ChoiceField(choices=LedgerEntry.HeldAs.choices)
    run = serializers.IntegerField(source="run.number", default=None, allow_null=True)
    lease = serializers.IntegerField(source="lease_id", allow_null=True)
    segment = serializers.IntegerField(source="segment_id", allow_null=True)
    pod = serializers.CharField(source="lease.pod.name", default=None, allow_null=True)
    pod_uid = serializers.CharField(source="lease.pod.uid", default=None, allow_null=True)
    node = serializers.SerializerMethodField()
    card = serializers.IntegerField(source="lease.card.index", default=None, allow_null=True)
    refers_to = serializers.IntegerField(source="refers_to_id", allow_null=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        return {**fields, "from": serializers.DateTimeField(source="starts_at")}

    def get_cards(self, row: LedgerEntry) -> float:
        return number(round(Decimal(row.cards_u7000) / UNITS_PER_CARD, _DIGITS))

    def get_node(self, row: LedgerEntry) -> str:
        if row.lease is not None:
            node = row.lease.node
            return f"{node.cluster.name}/{node.name}"
        return row.node_interval.node.name if row.node_interval else ""
