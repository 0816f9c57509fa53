"""Which container images jobs may run: rows a platform admin keeps. None at all allows every image."""

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _


class ImageRule(models.Model):
    """Allows images that begin with `prefix` (`registry.example/team/`), or that are exactly it."""

    prefix = models.CharField(
        max_length=400,
        unique=True,
        validators=[
            RegexValidator(r"\A[A-Za-z0-9][A-Za-z0-9._/:@-]*\Z", _("Use the start of an image reference, in ASCII."))
        ],
        help_text=_("End it with a slash to allow everything below: registry.example/team/"),
    )

    class Meta:
        ordering = ["prefix"]

    def __str__(self) -> str:
        return self.prefix
