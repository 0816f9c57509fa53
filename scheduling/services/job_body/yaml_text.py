"""The same body as YAML text, for the form's other face and for files."""

from typing import Any

import yaml
from django.utils.translation import gettext_lazy as _

from berth.common.errors import Problems

LONGEST = 200_000


class _PlainLoader(yaml.SafeLoader):
    """Instants stay text, as in JSON; aliases are refused (a few lines could otherwise unfold into gigabytes)."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.constructor.ConstructorError(None, None, "aliases are not supported", event.start_mark)
        return super().compose_node(parent, index)


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def body_from_yaml(text: str) -> Any:
    """The body that `text` says. Raises InvalidError with line and column where it is no YAML."""
    problems = Problems()
    body: Any = None
    if len(text) > LONGEST:
        problems.add("body", _("At most %d characters.") % LONGEST, code="length")
    else:
        try:
            body = yaml.load(text, Loader=_PlainLoader)  # noqa: S506 - a SafeLoader with less
        except yaml.MarkedYAMLError as error:
            problems.add("body", _at(error), code="yaml")
        except (yaml.YAMLError, ValueError, RecursionError):
            problems.add("body", _("This is no YAML."), code="yaml")
    problems.raise_if_any()
    return body


def body_to_yaml(body: Any) -> str:
    """Readable text of a body, in the order of its fields."""
    text: str = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=120)
    return text


def _at(error: yaml.MarkedYAMLError) -> Any:
    mark = error.problem_mark
    if mark is None:
        return _("This is no YAML.")
    return _("Line %(line)d, column %(column)d: %(problem)s") % {
        "line": mark.line + 1,
        "column": mark.column + 1,
        "problem": error.problem or "",
    }
