"""Django app of the pages that mix rooms (the overview), and of the template tags that all pages are drawn with."""

from django.apps import AppConfig


class PagesConfig(AppConfig):
    name = "berth.pages"
    label = "pages"
