"""Fills an empty database with the demo organisation and its history, or with one small scenario. Idempotent."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import OperationalError, connection, transaction

from berth.common import clock
from berth.common.errors import BerthError
from berth.demo.build import build_organisation, build_supply
from berth.demo.history import load_history
from berth.demo.money import close_last_month, list_prices, record_all_costs
from berth.demo.organisation import BILLING_ZONE, FULL, SCENARIOS, Organisation
from berth.demo.past import live_through
from berth.demo.people import SignIn, create_people, renew_sign_ins, write_sign_ins
from berth.demo.scenes import running_in
from berth.demo.today import asks_of_today
from berth.demo.virtual import start_machines, start_pods
from berth.demo.workload import ZONE, asks_between
from berth.environment import running_services, sign_ins_file
from tenants.models import AuditEvent, Tenant

QUIET_DAYS: Final = 1
TRIES: Final = 20
IN_THE_WAY: Final = frozenset({"40P01", "55P03"})
"""SQLSTATE of a deadlock and of a lock that did not come in time."""
BEGUN, LOADED = "demo.begun", "demo.loaded"
Say = Callable[[str], None]


class OtherDataError(BerthError):
    """The database holds something else; nothing was changed."""

    code = "other-data"
    message = (
        "The database already holds other tenants (%(tenants)s). "
        "Use an empty database, or --replace to delete everything in it first."
    )


class NoTablesError(BerthError):
    """The database was never migrated."""

    code = "no-tables"
    message = "The database has no tables yet: run `manage.py migrate` first."


def bootstrap(scenario: str | None, *, replace: bool, local: Path, url: str, say: Say) -> bool:
    """Build what was asked for; False if it stands already. Raises OtherDataError. All or nothing."""
    organisation = SCENARIOS[scenario] if scenario else FULL
    if replace:
        _empty()
    if is_half_done():
        _empty()
    present = set(Tenant.objects.values_list("slug", flat=True))
    wanted = {tenant.slug for tenant in organisation.tenants}
    if present and present != wanted:
        raise OtherDataError(tenants=", ".join(sorted(present)[:5]))
    path = local / sign_ins_file(settings.BERTH_CLUSTER).name
    if present:
        if not path.exists():
            write_sign_ins(renew_sign_ins(), path=path, url=url)
        return False
    _empty()
    now = clock.now().replace(microsecond=0)
    if not clock.is_simulated():
        people = _build_real(organisation, now)
    elif scenario:
        people = _build_scene(scenario, organisation, now)
    else:
        people = _build_full(organisation, now, say)
    write_sign_ins(people, path=path, url=url)
    _mark(LOADED, scenario)
    return True


def is_half_done() -> bool:
    """Whether a load was begun and never ended: killed on the way, it is done again from the start."""
    marks = AuditEvent.objects.filter(action__in=[BEGUN, LOADED]).order_by("-pk").values_list("action", flat=True)
    return marks.first() == BEGUN


def _mark(action: str, scenario: str | None) -> None:
    AuditEvent.objects.create(at=clock.now(), action=action, object_type="demo", object_id=scenario or "full")


def bootstrap_supply() -> bool:
    """BERTH_DEMO=0: the cluster, its flavors and the price book, and no tenants."""
    if Tenant.objects.exists():
        return False
    _empty()
    now = clock.now().replace(microsecond=0)
    with transaction.atomic():
        build_supply(FULL, since=now - timedelta(days=QUIET_DAYS))
        list_prices(FULL, since=now - timedelta(days=QUIET_DAYS))
    if clock.is_simulated():
        start_machines()
    return True


def first_of_last_month(now: datetime) -> datetime:
    """Midnight, in the demo's billing zone, of the first day of the month before `now`'s."""
    local = now.astimezone(ZONE)
    first = local.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first - timedelta(days=1)).replace(day=1)


def _build_full(organisation: Organisation, now: datetime, say: Say) -> list[SignIn]:
    since = first_of_last_month(now)
    asks = sorted([*asks_between(since, now), *asks_of_today(now)], key=lambda ask: (ask.at, ask.tenant, ask.name))
    say(f"running {len(asks)} jobs of {(now - since).days} days through the scheduler ({BILLING_ZONE})")
    past = live_through(organisation, asks, since=since, until=now)
    with transaction.atomic():
        _mark(BEGUN, None)
        build_organisation(organisation, since=since)
        people = create_people(list(Tenant.objects.order_by("slug")), since=since)
        list_prices(organisation, since=since)
        say("loading the history")
        load_history(past, since=since)
    start_machines()
    start_pods()
    say("metering and closing last month")
    close_last_month(now)
    record_all_costs()
    return people


def _build_real(organisation: Organisation, now: datetime) -> list[SignIn]:
    """On a real cluster the organisation has no past, and its machines are found there, not made."""
    since = first_of_last_month(now)
    with transaction.atomic():
        _mark(BEGUN, None)
        build_organisation(organisation, since=since)
        people = create_people(list(Tenant.objects.order_by("slug")), since=since)
        list_prices(organisation, since=since)
    return people


def _build_scene(scenario: str, organisation: Organisation, now: datetime) -> list[SignIn]:
    since = now - timedelta(days=QUIET_DAYS)
    with transaction.atomic():
        _mark(BEGUN, scenario)
        build_organisation(organisation, since=since)
        people = create_people(list(Tenant.objects.order_by("slug")), since=since)
        list_prices(organisation, since=since)
        load_history(running_in(scenario, since=since, now=now), since=since)
    start_machines()
    start_pods()
    return people


def _empty() -> None:
    """Delete all rows of the platform and of the simulated cluster; the clock, sessions and migrations stay.

    A running platform reads and writes all the while: who meets it on the way lets go and tries again.
    """
    for attempt in range(1, TRIES + 1):
        try:
            with transaction.atomic():
                _truncate()
            return
        except OperationalError as error:
            if attempt == TRIES or getattr(error.__cause__, "sqlstate", "") not in IN_THE_WAY:
                raise


def _truncate() -> None:
    apps = ("tenants_", "scheduling_", "billing_", "knox_", "account_", "mfa_", "pghistory_")
    kept = [table for table in connection.introspection.table_names() if table.startswith(apps)]
    if not kept:
        raise NoTablesError
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '500ms'")
        cursor.execute("TRUNCATE " + ", ".join(f'"{table}"' for table in sorted(kept)) + " RESTART IDENTITY CASCADE")


def demo_url() -> str:
    """Where the demo's pages answer: of the platform that runs here, whatever its port, else where it will."""
    return running_services().get("url") or f"http://127.0.0.1:{settings.BERTH_PORT}"
