"""Which adapter stands behind which cluster. One port per cluster and process, made after fork."""

import os
from functools import cache

from django.conf import settings
from django.db import connection
from django.utils.module_loading import import_string

from berth.common import clock
from scheduling.cluster.port import ClusterPort
from tenants.models import Cluster


class OpenTransactionError(RuntimeError):
    """A cluster was about to be called inside a transaction of the platform (Q12). A bug, never a state of the world."""


def port_of(cluster: Cluster) -> ClusterPort:
    """The port of a cluster, by its kind. Raises OpenTransactionError inside a transaction: a slow cluster must hold no lock."""
    if connection.in_atomic_block:
        raise OpenTransactionError(f"cluster {cluster.name} called inside a transaction")
    return _port(cluster.kind, cluster.name, cluster.credential_ref, os.getpid())


@cache
def _port(kind: str, name: str, credential_ref: str, _pid: int) -> ClusterPort:
    adapter: ClusterPort = import_string(settings.CLUSTER_ADAPTERS[kind])(
        name, credential_ref or settings.BERTH_KUBECONFIG or "", now=clock.now
    )
    return adapter
