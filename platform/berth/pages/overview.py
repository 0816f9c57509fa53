"""The overview: can I board now, and what of mine needs me?"""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


@login_required
def overview(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/overview.html", {})
