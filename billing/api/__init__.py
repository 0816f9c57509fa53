"""REST of billing."""
