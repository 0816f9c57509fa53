"""Which buckets a request belongs to, and how the limits in force are told on every answer (LIM-01, LIM-03)."""

from math import ceil
from typing import Any, Final

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from tenants.permissions import Belonging, belongings
from tenants.services.rate_limit import Bucket, Decision, Left, take_one

ORDINARY: Final = 100
PRIORITY: Final = 200
ANONYMOUS: Final = 20
WINDOW_S: Final = 1

_DECISION = "_limit_decision"


class RateLimitedError(APIException):
    """429 with `Retry-After` and the reason."""

    status_code = 429
    default_code = "rate-limited"

    def __init__(self, bucket: Bucket, retry_after_s: float) -> None:
        self.wait = max(1, ceil(retry_after_s))
        super().__init__(
            _("More than %(rate)s requests a second (%(bucket)s limit, %(reason)s). Try again in %(wait)s s.")
            % {"rate": bucket.rate, "bucket": bucket.name, "reason": bucket.reason, "wait": self.wait}
        )
        self.members = {"reason": bucket.reason, "params": {"limit": bucket.rate, "retry_after": self.wait}}


def take(request: Request, run: str | None = None) -> None:
    """One request off every bucket, or off that of a `run` whose token came with it; RateLimitedError when one is empty."""
    decision = _decide(request, _buckets(request) if run is None else [Bucket("run", run, ORDINARY, "run")])
    if decision.refused_by is not None:
        raise RateLimitedError(decision.refused_by, decision.retry_after_s)


def limit_headers(request: Request) -> dict[str, str]:
    """`RateLimit` and `RateLimit-Policy`. A request refused before its limits were looked at counts for its address."""
    if not settings.BERTH_RATE_LIMITS:
        return {}
    decision: Decision = getattr(request, _DECISION, None) or _decide(request, [_address(request)])
    return {
        "RateLimit-Policy": ", ".join(_policy(left, decision) for left in decision.left),
        "RateLimit": ", ".join(
            f'"{left.bucket.name}";r={left.remaining};t={ceil(left.reset_s)}' for left in decision.left
        ),
    }


def _policy(left: Left, decision: Decision) -> str:
    reason = left.bucket.reason if decision.known else "limiter-unavailable"
    return f'"{left.bucket.name}";q={left.bucket.rate};w={WINDOW_S};reason="{reason}"'


def _decide(request: Request, buckets: list[Bucket]) -> Decision:
    if settings.BERTH_RATE_LIMITS:
        decision = take_one(buckets)
    else:
        decision = Decision(tuple(Left(bucket, bucket.rate, 0.0) for bucket in buckets))
    setattr(request, _DECISION, decision)
    return decision


def _buckets(request: Request) -> list[Bucket]:
    user: Any = request.user
    if not user.is_authenticated:
        return [_address(request)]
    belonging = _addressed(request, belongings(user))
    priority = belonging is not None and belonging.service_tier == "priority"
    rate, reason = (PRIORITY, "priority-tenant") if priority else (ORDINARY, "ordinary")
    found = []
    if belonging is not None:
        found.append(Bucket("tenant", f"tenant:{belonging.tenant_id}", rate, reason))
    if request.auth is not None:
        found.append(Bucket("token", f"token:{request.auth.pk}", rate, reason))
    return [*found, Bucket("user", f"user:{user.pk}", rate, reason)]


def _addressed(request: Request, held: tuple[Belonging, ...]) -> Belonging | None:
    """The membership that the address names (`?tenant=`), else the first: most people have one."""
    slug = request.query_params.get("tenant")
    return next((belonging for belonging in held if belonging.slug == slug), held[0] if held else None)


def _address(request: Request) -> Bucket:
    """By the peer's own address: a forwarded one can be made up."""
    return Bucket("address", f"address:{request.META.get('REMOTE_ADDR', '')}", ANONYMOUS, "not-signed-in")
