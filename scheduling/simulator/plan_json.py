"""A `Plan` -> the document that `plan --json` prints (docs/simulator.md): contract units, always the same keys, stable order."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from scheduling.engine.plan import Amounts, Evict, Holder, Plan, Resize, Share, Start, Wait
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.vocabulary import WaitCode

Document = dict[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CALENDAR_END_MS = 253_402_300_800_000
"""The first instant of the year 10000."""
MILLI, MIB, PPM = 1000, 1024, 1_000_000


def plan_document(plan: Plan, snapshot: Snapshot, message: Callable[[Wait], str]) -> Document:
    """The whole decision; `message` gives a wait's text."""
    return {
        "starts": [_start(start) for start in plan.starts],
        "preempts": [_evict(evict) for evict in plan.evicts],
        "resizes": [_resize(resize) for resize in plan.resizes],
        "waits": [_wait(wait, snapshot, message) for wait in plan.waits],
        "shares": {name: _share(plan.shares[name]) for name in sorted(plan.shares)},
    }


def number(value: int, scale: int) -> int | float:
    """`value / scale` as JSON writes it best: a whole number without a point, else at most 3 decimals."""
    if value % scale == 0:
        return value // scale
    return round(value / scale, 3)


def rfc3339(at_ms: int | None) -> str | None:
    """UTC with a Z, milliseconds only where there are any; None for never, which is also what lies beyond the calendar."""
    if at_ms is None or at_ms >= CALENDAR_END_MS:
        return None
    at = EPOCH + timedelta(milliseconds=at_ms)
    text = at.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{at_ms % 1000:03d}Z" if at_ms % 1000 else f"{text}Z"


def amounts_document(amounts: Amounts) -> dict[str, int | float]:
    """Amounts by resource key in contract units, in key order."""
    return {key: _in_unit(key, amounts[key]) for key in sorted(amounts)}


def _in_unit(key: str, value: int) -> int | float:
    if key.startswith("gpu") or key == "cpu":
        return number(value, MILLI)
    return number(value, MIB) if key in {"memory_gib", "vram_gib"} else value


def _start(start: Start) -> Document:
    pods = [
        {"role": pod.role, "index": pod.index, "node": pod.node, "gpus": number(pod.cards_m, MILLI)}
        for pod in start.pods
    ]
    own, borrowed = _totals(start.own), _totals(start.borrowed)
    keys = [key for key in ("gpu", "cpu", "memory_gib") if key == "gpu" or own.get(key) or borrowed.get(key)]
    return {
        "job": start.job,
        "pods": pods,
        "own": {key: _in_unit(key, own.get(key, 0)) for key in keys},
        "borrowed": {key: _in_unit(key, borrowed.get(key, 0)) for key in keys},
        "loan_expires": rfc3339(min((loan.expires_ms for loan in start.loans), default=None)),
    }


def _totals(amounts: Amounts) -> Mapping[str, int]:
    """Cards of all flavors under `gpu`, beside the other resources."""
    cards = amounts.get("gpu")
    if cards is None:
        cards = sum(value for key, value in amounts.items() if key.startswith("gpu:"))
    return {**amounts, "gpu": cards}


def _evict(evict: Evict) -> Document:
    return {
        "job": evict.job,
        "for": evict.for_job,
        "reason": evict.reason.value,
        "grace_s": number(evict.grace_ms, MILLI),
    }


def _resize(resize: Resize) -> Document:
    return {"job": resize.job, "role": resize.role, "from": resize.old, "to": resize.new, "reason": resize.reason}


def _wait(wait: Wait, snapshot: Snapshot, message: Callable[[Wait], str]) -> Document:
    document: Document = {
        "job": wait.job,
        "code": wait.code.value,
        "message": message(wait),
        "need": amounts_document(wait.need),
        "have": amounts_document(wait.have),
        "short": amounts_document(wait.short),
        "holders": [_holder(holder) for holder in wait.holders],
        "position": wait.position,
        "cards_ahead": None if wait.cards_ahead_m is None else number(wait.cards_ahead_m, MILLI),
        "reserved_start": rfc3339(wait.reserved_start_ms),
    }
    if wait.code is WaitCode.KEPT_FOR_PREEMPTED:
        document["kept"] = list(_node_names(wait.kept, snapshot))
    return document


def _node_names(ids: Iterable[int | str], snapshot: Snapshot) -> Iterable[str]:
    names = dict(zip(snapshot.nodes.ids, snapshot.nodes.names, strict=True))
    return (names.get(node, str(node)) for node in ids)


def _holder(holder: Holder) -> Document:
    return {
        "tenant": holder.tenant,
        "queue": holder.queue,
        "job": holder.job,
        **amounts_document(holder.amounts),
        "until": rfc3339(holder.until_ms),
    }


def _share(share: Share) -> Document:
    drf = round(share.drf_numerator / share.drf_denominator, 6) if share.drf_denominator else 0
    return {
        "drf": int(drf) if drf == int(drf) else drf,
        "over_quota_permille": share.over_quota_permille,
        "dominant": share.dominant,
        "effective_weight": _weight(share.effective_weight_ppm),
    }


def _weight(value_ppm: int) -> int | float:
    return value_ppm // PPM if value_ppm % PPM == 0 else round(value_ppm / PPM, 6)
