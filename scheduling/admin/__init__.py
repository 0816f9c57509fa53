"""Django admin of nodes, jobs and cycles: operating nodes is an action, everything else here is for reading."""

from scheduling.admin import decisions, jobs, nodes

__all__ = ["decisions", "jobs", "nodes"]
