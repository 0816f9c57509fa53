"""Answers for live page regions: a request that repeats the ETag it was given costs one 304 until what it shows has changed."""

import json
from collections.abc import Callable
from datetime import datetime
from hashlib import blake2b
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import quote_etag
from django.utils.translation import get_language

CHECKED_HEADER = "Berth-Checked"
"""Wall time of the newest decision: how a page that gets only 304s still knows how old its numbers are."""


def is_region_request(request: HttpRequest) -> bool:
    """Whether only a region of the page is asked for."""
    return request.headers.get("HX-Request") == "true" and request.headers.get("HX-History-Restore-Request") != "true"


def live_answer(
    request: HttpRequest, *, version: Any, checked_at: datetime, draw: Callable[[dict[str, Any]], HttpResponse]
) -> HttpResponse:
    """304 if the region's ETag still stands, else what `draw` renders; it gets `etag_header` and `is_region` for its templates.

    `version` must change whenever the page's content does; language, reader and address are added here.
    """
    seen = f"{version}|{get_language()}|{request.user.pk}|{request.get_full_path()}"
    etag = quote_etag(blake2b(seen.encode(), digest_size=12).hexdigest())
    region = is_region_request(request)
    answer = get_conditional_response(request, etag=etag) if region else None
    if answer is None:
        answer = draw({"etag_header": json.dumps({"If-None-Match": etag}), "is_region": region})
    answer["ETag"] = etag
    answer[CHECKED_HEADER] = checked_at.isoformat()
    answer["Cache-Control"] = "private, no-cache"
    patch_vary_headers(answer, ("HX-Request", "Cookie"))
    return answer
