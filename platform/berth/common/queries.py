"""What may stand behind the question mark: unknown names are errors, so that a typing error never shows another list than asked for."""

from django.utils.translation import gettext as _
from drf_canon.errors import QueryParamError
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request

from berth.common.parsing import storable

PAGING = frozenset({"cursor", "limit", "ordering"})


def refuse_unknown_query(request: Request, known: frozenset[str]) -> None:
    """400 that names every unknown parameter and every value the database could not hold."""
    wrong: dict[str, list[ErrorDetail]] = {}
    for name, values in request.query_params.lists():
        if name not in known:
            allowed = ", ".join(sorted(known)) or "-"
            text = _("Unknown parameter. Known are: %(known)s.") % {"known": allowed}
            wrong[name.replace("\x00", "?")] = [ErrorDetail(text, code="unknown-parameter")]
        elif not all(map(storable, values)):
            wrong[name] = [ErrorDetail(_("This text holds a character that cannot be stored."), code="invalid")]
    if wrong:
        raise QueryParamError(wrong)
