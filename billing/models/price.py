"""Price books and rates with effective dates (BIL-03)."""

from typing import Any, Self

import pghistory
import pgtrigger
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeBoundary, RangeOperators
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from berth.common.units import plain
from billing.rating import Meter
from tenants.models import Flavor, Tenant
from tenants.models.quota import TsTzRange
from tenants.scoping import ScopedQuerySet, scoped, sees_everything


class MeterChoices(models.TextChoices):
    """The meters of `billing.rating`, with their names for people."""

    CARD_HOUR = Meter.CARD_HOUR.value, _("card-hour")
    BORROWED_CARD_HOUR = Meter.BORROWED_CARD_HOUR.value, _("borrowed card-hour")
    CPU_CORE_HOUR = Meter.CPU_CORE_HOUR.value, _("CPU core-hour")
    MEMORY_GIB_HOUR = Meter.MEMORY_GIB_HOUR.value, _("memory GiB-hour")
    STORAGE_GB_MONTH = Meter.STORAGE_GB_MONTH.value, _("storage GB-month")
    EGRESS_GB = Meter.EGRESS_GB.value, _("egress GB")


class PriceBookQuerySet(ScopedQuerySet):
    """A book is visible through what is in it: general rates are everybody's, agreed ones their tenant's."""

    def visible_to(self, user: Any) -> Self:
        """All books for platform roles; for others those with a rate they may see."""
        if sees_everything(user):
            return self
        return self.filter(pk__in=Rate.objects.visible_to(user).order_by().values("price_book_id"))


@pghistory.track()
class PriceBook(models.Model):
    """A named collection of rates in one currency: a public list, or what was agreed with somebody."""

    name = models.CharField(max_length=63, unique=True)
    currency = models.CharField(max_length=3)
    note = models.CharField(max_length=500, blank=True, default="")
    created_at = models.DateTimeField()

    objects = models.Manager.from_queryset(PriceBookQuerySet)()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(currency__regex=r"^[A-Z]{3}$"), name="price_book_currency_is_iso_4217")
        ]

    def __str__(self) -> str:
        return self.name


LAST_CLOSED = """
    SELECT max(period.ends_at) INTO last_closed
      FROM billing_billingperiod period JOIN tenants_tenant tenant ON tenant.id = period.tenant_id
     WHERE period.state = 'closed' AND tenant.currency = NEW.currency
       AND (NEW.tenant_id IS NULL OR NEW.tenant_id = period.tenant_id);
    IF NEW.valid_to IS DISTINCT FROM OLD.valid_to
       AND (NEW.valid_to < last_closed OR OLD.valid_to < last_closed) THEN
        RAISE EXCEPTION 'rate %: its end lies in a closed period (closed until %)', NEW.id, last_closed
              USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
"""


@pghistory.track()
class Rate(models.Model):
    """One version of a price, in force on [valid_from, valid_to). Nothing of it ever changes but its end (B39).

    The end may be set to any instant after the last closed period; an end equal to the start withdraws the rate. One
    price stands per currency, meter, flavor, tenant and instant, whichever book it is in (B38, ADR 0012).
    """

    price_book = models.ForeignKey(PriceBook, on_delete=models.PROTECT, related_name="rates")
    meter = models.CharField(max_length=20, choices=MeterChoices)
    flavor = models.ForeignKey(Flavor, null=True, blank=True, on_delete=models.PROTECT, related_name="rates")
    tenant = models.ForeignKey(Tenant, null=True, blank=True, on_delete=models.PROTECT, related_name="rates")
    price = models.DecimalField(max_digits=18, decimal_places=6, validators=[MinValueValidator(0)])
    currency = models.CharField(max_length=3)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()

    objects = models.Manager.from_queryset(scoped("tenant", shared=True))()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(price__gte=0), name="rate_price_not_negative"),
            models.CheckConstraint(condition=Q(meter__in=[meter.value for meter in Meter]), name="rate_meter_known"),
            models.CheckConstraint(
                condition=Q(valid_to__isnull=True) | Q(valid_to__gte=F("valid_from")), name="rate_ends_after_start"
            ),
            models.CheckConstraint(
                condition=~Q(meter__in=["card_hour", "borrowed_card_hour"]) | Q(flavor__isnull=False),
                name="rate_of_cards_names_a_flavor",
            ),
            ExclusionConstraint(
                name="rate_one_price_at_an_instant",
                expressions=[
                    ("currency", RangeOperators.EQUAL),
                    ("meter", RangeOperators.EQUAL),
                    (Coalesce("flavor", 0), RangeOperators.EQUAL),
                    (Coalesce("tenant", 0), RangeOperators.EQUAL),
                    (TsTzRange("valid_from", "valid_to", RangeBoundary()), RangeOperators.OVERLAPS),
                ],
            ),
        ]
        triggers = [
            pgtrigger.ReadOnly(name="rate_is_frozen", exclude=["valid_to"]),
            pgtrigger.Protect(name="rate_stays", operation=pgtrigger.Delete),
            pgtrigger.Trigger(
                name="rate_ends_in_open_time",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                declare=[("last_closed", "timestamptz")],
                func=LAST_CLOSED,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_meter_display()} {plain(self.price)} {self.currency}"
