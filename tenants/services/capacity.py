"""What pools physically have, and whether what was granted of it still adds up (SCH-15)."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db import transaction
from django.db.models import Q, Sum
from django.utils.translation import gettext_lazy as _

from berth.common import clock
from berth.common.errors import Problems
from berth.common.units import PPM, from_milli, from_ppm, mib_to_gib
from tenants.models import Flavor, Pool, PoolCapacity, Queue, Quota, Resource
from tenants.services.quota_lines import Key

POOL_WIDE = (Resource.CPU, Resource.MEMORY, Resource.VRAM)


def record_capacity(*, pool: Pool, amounts: Mapping[Key, int], at: datetime | None = None) -> None:
    """What the pool's machines can allocate now, whole: cards by flavor (`("gpu", flavor id)`) in milli-cards, `("cpu", None)` in
    millicores, memory and VRAM in MiB. What is not named any more is forgotten. Scheduling calls it when machines come or go.
    """
    recorded_at = at or clock.now()
    with transaction.atomic():
        Pool.objects.select_for_update().get(pk=pool.pk)
        flavors = {flavor.pk: flavor for flavor in Flavor.objects.filter(pool=pool)}
        kept = []
        for (resource, flavor_id), amount in sorted(amounts.items(), key=lambda item: (item[0][0], item[0][1] or 0)):
            row, _made = PoolCapacity.objects.update_or_create(
                pool=pool,
                resource=resource,
                flavor=None if flavor_id is None else flavors[flavor_id],
                defaults={"amount": amount, "recorded_at": recorded_at},
            )
            kept.append(row.pk)
        PoolCapacity.objects.filter(pool=pool).exclude(pk__in=kept).delete()


def lock_pools(pools: Iterable[Pool]) -> None:
    """Whoever changes what is granted of a pool holds its row, so that two changes cannot both fit."""
    ids = sorted({pool.pk for pool in pools})
    list(Pool.objects.select_for_update().filter(pk__in=ids).order_by("pk").values_list("pk"))


def granted(pool: Pool, at: datetime) -> dict[Key, int]:
    """What the tree grants of a pool at `at`: per tenant its own line, else the sum of its queues, plus what cohorts own (SCH-03).

    Of CPU, memory and VRAM only the queues' lines belong to one pool, so they are what counts there.
    """
    valid = Q(valid_from__lte=at) & (Q(valid_to__isnull=True) | Q(valid_to__gt=at))
    cards = Quota.objects.filter(valid, resource=Resource.GPU, flavor__pool=pool)
    total: dict[Key, int] = {}
    by_tenant: dict[tuple[int, int], int] = {}
    queues = cards.filter(queue__isnull=False).values("queue__tenant_id", "flavor_id").annotate(sum=Sum("nominal"))
    for tenant_id, flavor_id, nominal in queues.order_by().values_list("queue__tenant_id", "flavor_id", "sum"):
        by_tenant[tenant_id, flavor_id] = nominal
    for tenant_id, flavor_id, nominal in cards.filter(tenant__isnull=False).values_list(
        "tenant_id", "flavor_id", "nominal"
    ):
        by_tenant[tenant_id, flavor_id] = nominal
    for (_tenant, flavor_id), nominal in by_tenant.items():
        total[Resource.GPU.value, flavor_id] = total.get((Resource.GPU.value, flavor_id), 0) + nominal
    for flavor_id, nominal in cards.filter(cohort__isnull=False).values_list("flavor_id", "nominal"):
        total[Resource.GPU.value, flavor_id] = total.get((Resource.GPU.value, flavor_id), 0) + nominal
    wide = Quota.objects.filter(valid, resource__in=POOL_WIDE, queue__pool=pool)
    sums = wide.values("resource").annotate(sum=Sum("nominal")).order_by()
    for resource, nominal in sums.values_list("resource", "sum"):
        total[resource, None] = nominal
    return total


def granted_from(pool: Pool, at: datetime) -> dict[Key, int]:
    """The most that is granted of each resource at any instant from `at` on: lines may begin later."""
    later = Q(queue__pool=pool) | Q(flavor__pool=pool)
    starts = Quota.objects.filter(later, valid_from__gt=at).order_by("valid_from").values_list("valid_from", flat=True)
    most: dict[Key, int] = {}
    for instant in [at, *starts.distinct()]:
        for key, amount in granted(pool, instant).items():
            most[key] = max(most.get(key, 0), amount)
    return most


def check_sums(
    pool: Pool, *, before: Mapping[Key, int], at: datetime, problems: Problems, where: str = "quota"
) -> None:
    """Σ nominal ≤ physical × factor, for everything that grew since `before`; what shrinks is always welcome.

    With it Σ of what production may use, floor(nominal ÷ factor) each, stays ≤ physical, so that is not summed again (SCH-15).
    """
    physical = {
        (row.resource, row.flavor_id): row.amount for row in PoolCapacity.objects.filter(pool=pool).order_by("id")
    }
    names = dict(Flavor.objects.filter(pool=pool).values_list("pk", "name"))
    for key, amount in sorted(granted_from(pool, at).items(), key=lambda item: (item[0][0], item[0][1] or 0)):
        most = physical.get(key, 0) * pool.factor_ppm // PPM
        if amount > most and amount > before.get(key, 0):
            resource, flavor_id = key
            place = f"{where}.{resource}.{names[flavor_id]}" if flavor_id else f"{where}.{resource}"
            problems.add(
                f"{place}.nominal",
                _("All queues together would have %(granted)s; pool %(pool)s has %(physical)s × %(factor)s = %(most)s.")
                % {
                    "granted": shown(resource, amount),
                    "pool": pool.name,
                    "physical": shown(resource, physical.get(key, 0)),
                    "factor": from_ppm(pool.factor_ppm),
                    "most": shown(resource, most),
                },
                code="over-capacity",
            )


def check_tenant_lines(queue: Queue, *, at: datetime, problems: Problems, where: str = "quota") -> None:
    """A tenant's own line is the total over its queues: their nominals together may not pass it (SCH-03)."""
    valid = Q(valid_from__lte=at) & (Q(valid_to__isnull=True) | Q(valid_to__gt=at))
    lines = Quota.objects.filter(valid, tenant_id=queue.tenant_id).select_related("flavor").order_by("id")
    for line in lines:
        rows = Quota.objects.filter(valid, queue__tenant_id=queue.tenant_id, resource=line.resource, flavor=line.flavor)
        total = rows.aggregate(sum=Sum("nominal"))["sum"] or 0
        if total > line.nominal:
            place = f"{where}.{line.resource}.{line.flavor.name}" if line.flavor else f"{where}.{line.resource}"
            problems.add(
                f"{place}.nominal",
                _("The tenant's queues together would have %(total)s; the tenant's own line is %(line)s.")
                % {"total": shown(line.resource, total), "line": shown(line.resource, line.nominal)},
                code="over-tenant",
            )


def shown(resource: str, amount: int) -> str:
    """An amount with its unit, for messages."""
    if resource == Resource.GPU:
        return _("%(n)s cards") % {"n": from_milli(amount)}
    if resource == Resource.CPU:
        return _("%(n)s cores") % {"n": from_milli(amount)}
    if resource in {Resource.MEMORY, Resource.VRAM}:
        return f"{mib_to_gib(amount)} GiB"
    return str(amount)
