"""Forms for a new password. A password that is too weak is wrong where it was typed, not where it was repeated."""

from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import AbstractBaseUser


class _AtTheFirstField(SetPasswordForm):
    def validate_password_for_user(self, user: AbstractBaseUser, *_field_name: str) -> None:
        super().validate_password_for_user(user, "new_password1")


class ChoosePasswordForm(_AtTheFirstField):
    """By whoever came through a one-time link."""


class ChangePasswordForm(_AtTheFirstField, PasswordChangeForm):
    """By whoever knows the old one."""
