"""People known only from imported usage: accounts that own history and can never sign in."""

from collections.abc import Iterable

from tenants.models import User


def ensure_users(usernames: Iterable[str]) -> dict[str, int]:
    """Ids of the users by name; those that do not exist are made as disabled service accounts without a password."""
    wanted = sorted(set(usernames))
    known = dict(User.objects.filter(username__in=wanted).values_list("username", "id"))
    missing = [
        User(username=name, kind=User.Kind.SERVICE, is_active=False, password="!")  # noqa: S106 - unusable
        for name in wanted
        if name not in known
    ]
    User.objects.bulk_create(missing, 2_000)
    return known | {user.username: user.pk for user in missing}
