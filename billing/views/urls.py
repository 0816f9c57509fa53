"""Addresses of the pages of money."""

from django.urls import path

from billing.views.statements import drill, statement, statements

urlpatterns = [
    path("statements/", statements, name="statements"),
    path("statements/<str:number>/", statement, name="statement"),
    path("statements/<str:number>/open/", drill, name="statement-drill"),
]
