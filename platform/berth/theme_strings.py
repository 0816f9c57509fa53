"""What the admin's theme says and does not say in Chinese itself: named here so that our catalogue carries it.

Django asks the project's catalogue before an application's, so the words need no copy of the theme's templates.
"""

from django.utils.translation import gettext_noop, ngettext_lazy

LISTS_AND_SEARCH = (
    gettext_noop("All applications"),
    gettext_noop("Apply Filters"),
    gettext_noop("Expand row"),
    gettext_noop("Loading more results..."),
    gettext_noop("More actions"),
    gettext_noop("Next"),
    gettext_noop("No data"),
    gettext_noop("No recent searches"),
    gettext_noop("No results matching your query"),
    gettext_noop("Previous"),
    gettext_noop("Recent searches"),
    gettext_noop("Record picture"),
    gettext_noop("Search apps and models..."),
    gettext_noop("Select action to run"),
    gettext_noop("Select action"),
    gettext_noop("Select all rows"),
    gettext_noop("Select record"),
    gettext_noop("Type to search"),
    ngettext_lazy(
        "\n                Found %(counter)s result in %(time)s seconds\n            ",
        "\n                Found %(counter)s results in %(time)s seconds\n            ",
    ),
)

FORMS = (
    gettext_noop("After you've created a user, you’ll be able to edit more user options."),
    gettext_noop("Choose file to upload"),
    gettext_noop("Click to cancel"),
    gettext_noop("Click to download"),
    gettext_noop("Date"),
    gettext_noop("False"),
    gettext_noop("General"),
    gettext_noop("Image preview"),
    gettext_noop(
        "Raw passwords are not stored, so there is no way to see this user’s password, but you can change the password using "
        '<a href="{}" class="text-primary-600 dark:text-primary-500">this form</a>.'
    ),
    gettext_noop("Select currency"),
    gettext_noop("Select value"),
    gettext_noop("This item will be deleted."),
    gettext_noop("Toggle password visibility"),
    gettext_noop("True"),
)

FRAME_AND_SIGN_IN = (
    gettext_noop("Go back"),
    gettext_noop("Return to site"),
    gettext_noop("System"),
    gettext_noop("Welcome back to"),
    gettext_noop("Welcome"),
    gettext_noop("You have been successfully logged out from the administration"),
)

HISTORY = (gettext_noop("Events"),)
"""Buttons of the application that keeps earlier states."""
