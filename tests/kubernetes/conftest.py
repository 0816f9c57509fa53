"""Tests on a real API server share the database fixtures of the loop's tests."""

from tests.integration.conftest import committed, test_database

__all__ = ["committed", "test_database"]
