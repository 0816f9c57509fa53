"""Where the own/borrowed split of open leases changed while they were held (SCH-03)."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from scheduling.models import SplitChange


def split_changes_of(lease_ids: Iterable[int]) -> defaultdict[int, list[tuple[datetime, bool]]]:
    """By lease: (instant, whether it counted as borrowed until then), in time order; an empty list where nothing changed."""
    found: defaultdict[int, list[tuple[datetime, bool]]] = defaultdict(list)
    rows = SplitChange.objects.filter(lease__in=list(lease_ids)).order_by("at", "id")
    for lease_id, at, borrowed in rows.values_list("lease_id", "at", "borrowed"):
        found[lease_id].append((at, borrowed))
    return found
