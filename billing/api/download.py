"""A statement as a file: CSV for spreadsheets, JSON for scripts; equal to the cent, and inert in a spreadsheet (BIL-09)."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from billing.api.documents import LineSerializer, StatementSerializer
from billing.models import Statement
from billing.selectors.documents import lines_to_write

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
_LINES_AT_ONCE: Final = 2_000
_PIECE: Final = 64 * 1024
"""Characters of CSV that are sent together: a server pays for each piece, not for its length."""
_TEXTS: Final = frozenset(
    {"statement", "tenant", "period", "job_name", "reason", "queue", "user", "project", "flavor", "kind", "held_as"}
)
_COLUMNS: Final = (
    *("statement", "tenant", "period", "id", "kind", "meter", "flavor", "borrowed", "quantity", "unit", "unit_price"),
    *("amount", "currency", "job", "job_name", "queue", "user", "project", "reason", "held_as", "worth"),
    *("charged_period", "from", "to", "rate", "adjustment", "card_seconds"),
)


def inert(text: str) -> str:
    """Text that a spreadsheet would run as a formula gets an apostrophe in front and stays text (B55)."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def download(statement: Statement, wanted: str) -> HttpResponseBase:
    """The response with the file. `wanted` is one of FORMATS."""
    response = FORMATS[wanted](statement)
    response.headers["Content-Disposition"] = f'attachment; filename="{statement.number}.{wanted}"'
    return response


def _csv(statement: Statement) -> HttpResponseBase:
    return StreamingHttpResponse(_csv_rows(statement), content_type="text/csv; charset=utf-8")


def _csv_rows(statement: Statement) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(_COLUMNS)
    shared = {"statement": statement.number, "tenant": statement.tenant_slug, "period": statement.period.label}
    for line in _lines(statement):
        values = shared | line
        writer.writerow([_cell(name, values[name]) for name in _COLUMNS])
        if buffer.tell() >= _PIECE:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _cell(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return inert(str(value)) if value is not None and name in _TEXTS else value


def _json(statement: Statement) -> HttpResponseBase:
    document = {**StatementSerializer(statement).data, "lines": list(_lines(statement))}
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return HttpResponse(text, content_type="application/json; charset=utf-8")


def _lines(statement: Statement) -> Iterator[dict[str, Any]]:
    """Lines as documents. One serializer writes them all: making one costs more than all else that a line needs."""
    serializer = LineSerializer()
    for line in lines_to_write(statement).iterator(_LINES_AT_ONCE):
        line.statement = statement
        yield serializer.to_representation(line)


FORMATS: Final[dict[str, Callable[[Statement], HttpResponseBase]]] = {"csv": _csv, "json": _json}
