"""Which addresses outside the platform may be called (webhooks, callbacks). Judges the text only; whoever calls also vets what it resolves to."""

import ipaddress
import re
from typing import Any, Final
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy as _

PORTS: Final = frozenset({None, 80, 443, 8080, 8443})
INSIDE_ENDINGS: Final = ("localhost", "local", "internal", "svc", "cluster.local", "intranet", "lan", "home.arpa")
HOST: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
NUMERIC_HOST: Final = re.compile(r"(0x[0-9a-f]+|[0-9]+)(\.(0x[0-9a-f]+|[0-9]+))*")


def is_outside_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an IP address is public: also judges the IPv4 address inside a mapped or translated IPv6 one."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is not None:
            return is_outside_address(inner)
    return address.is_global and not address.is_multicast


def outside_url_problem(url: str) -> Any:
    """What is wrong with `url` as an address to call (a sentence), None if it is right."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower().rstrip("."), parts.port
    except ValueError:
        return _("Must be a full address such as https://example.org/hook.")
    if parts.scheme not in {"http", "https"} or not host or re.search(r"[\s\\]", url):
        return _("Must be a full address such as https://example.org/hook.")
    if parts.username is not None or parts.password is not None:
        return _("Must not contain a user name or password.")
    if port not in PORTS:
        return _("The port must be 80, 443, 8080 or 8443.")
    return None if _is_outside_host(host) else _("Must be an address outside the platform's own network.")


def _is_outside_host(host: str) -> bool:
    try:
        return is_outside_address(ipaddress.ip_address(host))
    except ValueError:
        pass
    if NUMERIC_HOST.fullmatch(host):
        return False
    if any(host == ending or host.endswith(f".{ending}") for ending in INSIDE_ENDINGS):
        return False
    try:
        written = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        return False
    return HOST.fullmatch(written) is not None
