"""One exception base with a stable code per error; mapped to problem details in one handler (STYLE rule 25)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One wrong field: where (`roles[0].replicas`), a stable code, and a sentence with the allowed range."""

    field: str
    code: str
    message: Any


class BerthError(Exception):
    """Base of all errors that a person or script may see. `params` fill the message's named places."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 400
    message: ClassVar[Any] = _("The request could not be carried out.")

    def __init__(self, message: Any = None, **params: Any) -> None:
        self.text = message if message is not None else self.message
        self.params: Mapping[str, Any] = params
        super().__init__(message)

    def __str__(self) -> str:
        return str(self.text) % self.params if self.params else str(self.text)


class NotFoundError(BerthError):
    """Also for what exists but is not visible to the asker: never a hint."""

    code = "not-found"
    status = 404
    message = _("Not found, or not visible to you.")


class ForbiddenError(BerthError):
    code = "forbidden"
    status = 403
    message = _("Your role does not allow this.")


class ConflictError(BerthError):
    """The object's state does not allow the change now."""

    code = "conflict"
    status = 409
    message = _("The current state does not allow this.")


class UnavailableError(BerthError):
    code = "unavailable"
    status = 503
    message = _("A service that this needs cannot be reached now.")


class InvalidError(BerthError):
    """Bad input: every wrong field at once."""

    code = "invalid"
    status = 400
    message = _("Some fields are wrong.")

    def __init__(self, problems: Sequence[FieldProblem], message: Any = None) -> None:
        super().__init__(message)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "; ".join(f"{problem.field}: {problem.message}" for problem in self.problems)


@dataclass(slots=True)
class Problems:
    """Collects wrong fields so that all of them are reported at once."""

    found: list[FieldProblem] = field(default_factory=list)

    def add(self, where: str, message: Any, *, code: str = "invalid") -> None:
        self.found.append(FieldProblem(where, code, message))

    def raise_if_any(self) -> None:
        """Raise InvalidError if anything was found."""
        if self.found:
            raise InvalidError(self.found)
