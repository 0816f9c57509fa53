"""Content-Security-Policy: nothing but our own files, no inline script or style, no eval.

Only the admin is let out of it: its theme runs Alpine, which evaluates expressions (ECOSYSTEM section 2).
"""

from csp.constants import NONCE, NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest, HttpResponseBase

ADMIN_PATH = "/admin/"

POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        # Tabler draws its check boxes and arrows from `data:` images in its style sheet.
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
_ADMIN_POLICY = {
    **POLICY["DIRECTIVES"],
    "script-src": [SELF, UNSAFE_EVAL, UNSAFE_INLINE],
    "style-src": [SELF, UNSAFE_INLINE],
}


class ContentSecurityMiddleware(CSPMiddleware):
    """The strict policy everywhere, the wider one below the admin's path."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request=request, response=response, report_only=report_only)
        if not report_only and request.path_info.startswith(ADMIN_PATH):
            parts.replace = _ADMIN_POLICY
        return parts
