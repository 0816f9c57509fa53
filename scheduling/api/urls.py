"""Addresses of scheduling below `/api/v1/`, without a slash at the end."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from scheduling.api.cluster import ClusterViewSet
from scheduling.api.cycles import CycleViewSet
from scheduling.api.flavors import FlavorViewSet
from scheduling.api.jobs import JobViewSet
from scheduling.api.kubeconfig import KubeconfigViewSet
from scheduling.api.nodes import NodeViewSet
from scheduling.api.pools import PoolViewSet
from scheduling.api.queues import QueueViewSet
from scheduling.api.reservations import ReservationViewSet
from scheduling.api.run_reports import RunReportView
from scheduling.api.utilisation_samples import UtilisationSampleViewSet

router = SimpleRouter(trailing_slash=False)
router.register("jobs", JobViewSet, basename="job")
router.register("cycles", CycleViewSet, basename="cycle")
router.register("flavors", FlavorViewSet, basename="flavor")
router.register("pools", PoolViewSet, basename="pool")
router.register("cluster", ClusterViewSet, basename="cluster")
router.register("reservations", ReservationViewSet, basename="reservation")
router.register("utilisation-samples", UtilisationSampleViewSet, basename="utilisation-sample")

NODE = "nodes/<str:cluster>/<str:name>"
ORDERS = ("fail", "recover", "cordon", "uncordon", "drain")
CARD_ORDERS = ("fail", "recover")

urlpatterns = [
    *router.urls,
    path("runs/<int:run_id>/report", RunReportView.as_view(), name="run-report"),
    path("queues", QueueViewSet.as_view({"get": "list", "post": "create"}), name="queue-list"),
    path(
        "queues/<str:tenant>/<str:name>",
        QueueViewSet.as_view({"get": "retrieve", "patch": "partial_update"}),
        name="queue-detail",
    ),
    path("tenants/<str:slug>/kubeconfig", KubeconfigViewSet.as_view({"get": "retrieve"}), name="tenant-kubeconfig"),
    path("nodes", NodeViewSet.as_view({"get": "list"}), name="node-list"),
    path(NODE, NodeViewSet.as_view({"get": "retrieve"}), name="node-detail"),
    *(path(f"{NODE}/{order}", NodeViewSet.as_view({"post": order}), name=f"node-{order}") for order in ORDERS),
    *(
        path(
            f"{NODE}/cards/<int:index>/{order}",
            NodeViewSet.as_view({"post": f"{order}_card"}),
            name=f"card-{order}",
        )
        for order in CARD_ORDERS
    ),
]
