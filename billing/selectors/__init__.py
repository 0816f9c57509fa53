"""Reads of billing; one concept a file."""
