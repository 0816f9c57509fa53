"""Addresses of the pages that mix rooms."""

from django.urls import path

from berth.pages.overview import overview
from berth.pages.preferences import change_preferences

urlpatterns = [
    path("", overview, name="overview"),
    path("preferences/", change_preferences, name="preferences"),
]
