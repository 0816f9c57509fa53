"""How accounts come to be: a platform admin makes them; nobody signs up by themselves."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class ClosedAccounts(DefaultAccountAdapter):
    """Sign-in only; its messages ("signed in as") are left out, since the page that follows says as much."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        return None
