"""Empties the test database after tests that commit: only tables that hold rows, so that it costs what the test wrote.

Django's own flush cannot be used: the token library's table that ours replaces stands in the database, refers to users, and is
known to no model.
"""

from django.db import OperationalError, connection, connections
from psycopg.errors import DeadlockDetected

from berth.common import clock

KEPT = ("django_migrations", "django_content_type", "auth_permission", "django_site")
PATIENCE = 5
_EMPTY = """
DO $$
DECLARE
    one text; held boolean; names text[] := '{{}}';
BEGIN
    FOR one IN SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname NOT IN ({kept})
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', one) INTO held;
        IF held THEN names := names || quote_ident(one); END IF;
    END LOOP;
    IF cardinality(names) > 0 THEN
        EXECUTE 'TRUNCATE ' || array_to_string(names, ', ') || ' RESTART IDENTITY CASCADE';
    END IF;
END $$
"""


def empty_database() -> None:
    """Remove every row that migrations did not put there, and let go of the simulated cluster's connection."""
    name = str(connection.settings_dict["NAME"])
    # pytest-django makes test databases only for marked tests: a run of nothing but committed ones meets the real database.
    assert name.startswith("test_"), f"{name} is no test database: select a test marked django_db as well"
    kept = ", ".join(f"'{name}'" for name in KEPT)
    for left in reversed(range(PATIENCE)):
        try:
            with connection.cursor() as cursor:
                cursor.execute(_EMPTY.format(kept=kept))
            break
        except OperationalError as error:
            # A page's last request may still be read while its tables are emptied: one of the two gives way, and asks again.
            if not left or not isinstance(error.__cause__, DeadlockDetected):
                raise
    connections["simulated"].close()
    clock.forget()
