"""Reads of tenants: who may see what, which quota there is."""
