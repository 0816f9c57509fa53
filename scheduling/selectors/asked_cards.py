"""Leases count 1/7000 of cards; asks, quotas and loans count what a flavor hands out: cards, or of a MIG flavor instances (SCH-13).

The one place where one becomes the other. A flavor's profile is empty unless its cards are cut into MIG instances.
"""

from collections.abc import Mapping

from berth.common.units import MILLI, UNITS_PER_CARD
from scheduling.engine.instances import SEVENTHS, instances, slices
from tenants.models import Flavor


def unit_of(profile: str | None) -> int:
    """What a lease counts of one asked card: 7000 of a whole one, 1000 for each seventh that a MIG instance is."""
    return slices(profile or "") * UNITS_PER_CARD // SEVENTHS


def asked_m(units: int, profile: str | None) -> int:
    """1/7000 of cards as thousandths of what asks count, rounded down."""
    return units * MILLI // unit_of(profile)


def per_card(profile: str | None) -> int:
    """What one card counts as where asks are counted: a MIG card as its instances."""
    return instances(profile or "")


def mig_profiles() -> Mapping[int, str]:
    """Profiles of MIG flavors by id; other flavors are not in it. One query."""
    return dict(Flavor.objects.exclude(mig_profile="").values_list("pk", "mig_profile"))
