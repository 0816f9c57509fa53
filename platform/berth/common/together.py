"""Several migration operations carried out as one. It must not be used for an operation that reads an earlier one's result.

Django builds every related model anew after each operation on any of them. All of ours are related, so a first
migration of a hundred operations would build some ten thousand model classes: a minute of waiting for every new
database. Here all state changes come first, the models are built once, then the tables are made.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class Together(Operation):
    """Only for operations that find their model in its final state in the last state: new tables and their triggers."""

    serialization_expand_args: ClassVar[list[str]] = ["operations"]

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = operations

    def deconstruct(self) -> tuple[str, Sequence[Any], dict[str, Any]]:
        return type(self).__name__, [], {"operations": self.operations}

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.clear_delayed_apps_cache()
        # Built models would be kept up to date one by one; without them the next look builds all at once.
        state.__dict__.pop("apps", None)
        for operation in self.operations:
            operation.state_forwards(app_label, state)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for operation in self.operations:
            operation.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        # Both times the later state: the earlier one has none of the tables that a trigger's removal would look up.
        for operation in reversed(self.operations):
            operation.database_backwards(app_label, schema_editor, from_state, from_state)

    def describe(self) -> str:
        return f"{len(self.operations)} operations at once"
