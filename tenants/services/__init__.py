"""Writes of tenants."""
