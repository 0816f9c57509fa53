"""REST of tenants: parse, one call, render."""
