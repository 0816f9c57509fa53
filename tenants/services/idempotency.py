"""One effect for one `Idempotency-Key`: the key's row, the effect and its answer are one transaction (Q03)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction
from django.utils.translation import gettext_lazy as _
from psycopg.errors import LockNotAvailable

from berth.common import clock
from berth.common.errors import ConflictError
from tenants.models import IdempotencyKey, User

WAIT_S = 5
KEPT = timedelta(hours=24)
FIRST_ERROR = 400


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a JSON body."""

    status: int
    body: Any


class KeyReusedError(ConflictError):
    code = "idempotency-key-reused"
    message = _("This Idempotency-Key was used for another request.")


class KeyInFlightError(ConflictError):
    code = "idempotency-key-in-flight"
    message = _("The first request with this Idempotency-Key has not ended yet. Try again.")


def do_once(*, user: User, key: str, method_path: str, request_hash: str, effect: Callable[[], Answer]) -> Answer:
    """The answer of `effect`, or the stored one of the first request with this key and body.

    A twin waits on the key's unique index until the first has committed (then it gets the same answer) or rolled back (then it
    does the work itself); after WAIT_S it raises KeyInFlightError. Another body or address under the key: KeyReusedError. An
    effect that raises, or that answers an error, leaves nothing behind.
    """
    with transaction.atomic():
        row = _claim(user=user, key=key, method_path=method_path, request_hash=request_hash)
        if row is None:
            return _stored(user=user, key=key, method_path=method_path, request_hash=request_hash)
        answer = effect()
        if answer.status >= FIRST_ERROR:
            transaction.set_rollback(True)
            return answer
        row.status, row.body = answer.status, answer.body
        row.save(update_fields=["status", "body"])
    return answer


def forget_old_keys() -> int:
    """Delete keys older than KEPT; how many there were."""
    deleted, _by_model = IdempotencyKey.objects.filter(created_at__lt=clock.wall_now() - KEPT).delete()
    return deleted


def _claim(*, user: User, key: str, method_path: str, request_hash: str) -> IdempotencyKey | None:
    """The new row, or None when the key is taken by a committed request."""
    _wait_at_most(f"{WAIT_S}s")
    try:
        with transaction.atomic():
            return IdempotencyKey.objects.create(
                user=user, key=key, method_path=method_path, request_hash=request_hash, created_at=clock.wall_now()
            )
    except IntegrityError:
        return None
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise KeyInFlightError from error
        raise
    finally:
        _wait_at_most("0")


def _wait_at_most(limit: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [limit])


def _stored(*, user: User, key: str, method_path: str, request_hash: str) -> Answer:
    row = IdempotencyKey.objects.get(user=user, key=key)
    if row.request_hash != request_hash or row.method_path != method_path:
        raise KeyReusedError
    return Answer(row.status or 200, row.body)
