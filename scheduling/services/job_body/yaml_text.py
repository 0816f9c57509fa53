"""The same body as YAML text, for the form's other face and for files."""

import contextlib
import math
from typing import Any

import yaml
from django.utils.translation import gettext_lazy as _

from berth.common.errors import Problems
from berth.common.parsing import unstorable_fields

LONGEST = 200_000
LONGEST_NUMBER = 40
DEEPEST = 32
TAG = "tag:yaml.org,2002:"


class _PlainLoader(yaml.SafeLoader):
    """What JSON can say and nothing else: text, numbers, true, false, null, lists and mappings with keys as written.

    Instants stay text; aliases are refused (a few lines could otherwise unfold into gigabytes), and so are tags and merge keys.
    """

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            raise _wrong("aliases are not supported", event.start_mark)
        if self.depth >= DEEPEST:
            raise _wrong(f"more than {DEEPEST} levels", event.start_mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        value: int | float | None = None
        if len(node.value) <= LONGEST_NUMBER:
            with contextlib.suppress(ValueError, IndexError):
                value = self.construct_yaml_int(node) if node.tag == INT else self.construct_yaml_float(node)
        if value is None or not math.isfinite(value):
            raise _wrong("no number that a job can have", node.start_mark)
        return value

    def construct_bool(self, node: yaml.ScalarNode) -> bool:
        value = self.bool_values.get(str(node.value).lower())
        if value is None:
            raise _wrong("must be true or false", node.start_mark)
        return value

    def construct_members(self, node: yaml.Node) -> dict[str, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise _wrong("must be a mapping", node.start_mark)
        members: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _wrong("a key must be a plain word", key.start_mark)
            if key.value in members:
                raise _wrong(f"{key.value[:80]} is given twice", key.start_mark)
            members[key.value] = self.construct_object(value, deep=True)
        return members

    def refuse_tag(self, node: yaml.Node) -> Any:
        raise _wrong("tags are not supported", node.start_mark)


def _wrong(text: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, text, mark)


_SCALARS = ("null", "bool", "int", "float", "str")
INT = f"{TAG}int"
_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag.removeprefix(TAG) in _SCALARS]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_PlainLoader.yaml_constructors = {
    f"{TAG}null": yaml.SafeLoader.construct_yaml_null,
    f"{TAG}bool": _PlainLoader.construct_bool,
    f"{TAG}int": _PlainLoader.construct_number,
    f"{TAG}float": _PlainLoader.construct_number,
    f"{TAG}str": yaml.SafeLoader.construct_yaml_str,
    f"{TAG}seq": lambda loader, node: loader.construct_sequence(node, deep=True),
    f"{TAG}map": _PlainLoader.construct_members,
    None: _PlainLoader.refuse_tag,
}


def body_from_yaml(text: str) -> Any:
    """The body that `text` says. Raises InvalidError with line and column where it is no YAML, by field for what cannot be stored."""
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
    for field in unstorable_fields(body):
        problems.add(field or "body", _("This text holds a character that cannot be stored."), code="characters")
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
