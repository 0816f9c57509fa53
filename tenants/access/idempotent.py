"""`Idempotency-Key` on requests that create: reads the header, lets the service do it once, renders the answer again."""

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, cast

from django.utils.translation import gettext as _
from drf_canon.errors import HeaderError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.models import User
from tenants.services.idempotency import Answer, do_once

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
LONGEST = 200


def answer_once(request: Request, make: Callable[[], Response], *, secret: tuple[str, ...]) -> Response:
    """Without the header just `make()`. With it the first answer, again and again for 24 hours; marked `Idempotency-Replayed`."""
    key = request.headers.get(HEADER)
    if key is None:
        return make()
    if not (0 < len(key) <= LONGEST and key.isascii() and key.isprintable()):
        raise HeaderError({HEADER: _("Give 1 to %(most)s printable ASCII characters.") % {"most": LONGEST}})
    fresh: list[Response] = []

    def effect() -> Answer:
        response = make()
        fresh.append(response)
        return Answer(response.status_code, _kept(response.data, secret))

    answer = do_once(
        user=cast(User, request.user),
        key=key,
        method_path=f"{request.method} {request.path}"[:300],
        request_hash=_digest(request.data),
        effect=effect,
    )
    if fresh:
        return fresh[0]
    return Response(answer.body, status=answer.status, headers={REPLAYED: "true"})


def _digest(data: Any) -> str:
    """Of the meaning, not of the bytes: the order of members and blanks do not matter."""
    return sha256(json.dumps(data, sort_keys=True, separators=(",", ":"), default=str).encode()).hexdigest()


def _kept(data: Any, secret: tuple[str, ...]) -> Any:
    """The body as the client got it, without what may be shown only once."""
    body = json.loads(JSONRenderer().render(data)) if data is not None else None
    if isinstance(body, dict):
        body |= {name: None for name in secret if name in body}
    return body
