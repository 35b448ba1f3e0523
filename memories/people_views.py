"""Signing in and out, one-time links and the choice of a password."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm, UsernameField
from django.contrib.auth.views import LoginView, LogoutView
from django.forms import TextInput
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from memories.access import actor_for_request
from memories.errors import NotFound
from memories.password_forms import ChoosePasswordForm
from memories.services import people

BACKEND = "django.contrib.auth.backends.ModelBackend"


class SignInForm(AuthenticationForm):
    """A name longer than any account's is wrong, and nothing to keep a record of."""

    username = UsernameField(max_length=150, widget=TextInput(attrs={"autofocus": True}))


sign_in = LoginView.as_view(
    template_name="registration/sign_in.html", authentication_form=SignInForm, redirect_authenticated_user=True
)
sign_out = LogoutView.as_view()


@login_not_required
@never_cache
@csrf_protect
@sensitive_variables("secret")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_link(request: HttpRequest, secret: str) -> HttpResponse:
    """A visit shows a button and only the button spends the link: previews and scanners visit links too."""
    if request.method != "POST":
        usable = people.is_redeemable(secret)
        return render(request, "registration/sign_in_link.html") if usable else _spent(request)
    try:
        user = people.redeem(secret)
    except NotFound:
        return _spent(request)
    login(request, user, backend=BACKEND)
    return redirect("choose_password")


def _spent(request: HttpRequest) -> HttpResponse:
    return render(request, "registration/sign_in_link_used.html", status=410)


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def choose_password(request: HttpRequest) -> HttpResponse:
    user = actor_for_request(request).user
    if not user.must_choose_password:
        return redirect("settings_page")  # where the old password is asked for
    form = ChoosePasswordForm(user, request.POST if request.method == "POST" else None)
    if not form.is_valid():
        status = 422 if form.is_bound else 200
        return render(request, "registration/choose_password.html", {"form": form}, status=status)
    people.choose_password(user, form.cleaned_data["new_password1"])
    update_session_auth_hash(request, user)
    messages.success(request, "Your password is set.")
    return redirect("today")
