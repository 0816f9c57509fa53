"""Django app of the shared kernel: it owns one table, the anchor of the simulated clock."""

from django.apps import AppConfig


class CommonConfig(AppConfig):
    name = "berth.common"
    label = "common"
