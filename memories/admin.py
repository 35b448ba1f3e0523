"""Django's administration: configuration through the services, accounts, and the rest to read."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import Group
from django.contrib.auth.views import redirect_to_login
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from memories.access import actor_for_request
from memories.configuration import difference
from memories.configuration_admin import ConfigurationAdmin
from memories.limits import (
    BRIEFING_LIMITS,
    CODE_LIMITS,
    FRESHNESS_LIMITS,
    FUSION_LIMITS,
    RANKING_LIMITS,
    REINFORCEMENT_LIMITS,
    WEIGHTS_LIMITS,
)
from memories.models import (
    AuditEntry,
    BriefingConfig,
    CodeConfig,
    ConfigVersion,
    FreshnessConfig,
    FusionConfig,
    FusionWeights,
    Kind,
    Membership,
    Memory,
    RankingConfig,
    ReinforcementConfig,
    Scope,
    Token,
    User,
)
from memories.services.audit import record
from memories.services.config import remove_ranking
from memories.services.people import create_sign_in_link


@login_not_required
def sign_in_instead(request: HttpRequest, extra_context: Any = None) -> HttpResponse:
    """The administration has no sign-in of its own, so that lock-out and one-time links hold here too."""
    if not request.user.is_authenticated:
        return redirect_to_login(request.GET.get("next", reverse("admin:index")))
    messages.error(request, "The administration is for staff. Sign out, then sign in as a member of staff.")
    return redirect("sign_in")


admin.site.site_header = "Zero Memory"
admin.site.site_title = "Zero Memory administration"
admin.site.index_title = "Administration"
admin.site.login = sign_in_instead  # type: ignore[method-assign]  # the documented way to replace it
admin.site.unregister(Group)


class ReadOnlyAdmin(admin.ModelAdmin):
    actions = None
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(RankingConfig)
class RankingConfigAdmin(ConfigurationAdmin):
    limits = RANKING_LIMITS
    key_fields = ("kind",)
    list_display = ("kind", "weight", "half_life_days", "curve", "version", "updated_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only for a kind whose row was removed."""
        return self.has_view_permission(request) and bool(self._missing())

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_view_permission(request)

    def delete_model(self, request: HttpRequest, obj: RankingConfig) -> None:
        remove_ranking(user=request.user, kind=obj.kind)  # type: ignore[arg-type]  # staff are signed in

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "kind":
            kwargs["choices"] = [choice for choice in Kind.choices if choice[0] in self._missing()]
        return super().formfield_for_choice_field(db_field, request, **kwargs)

    @staticmethod
    def _missing() -> set[str]:
        return set(Kind.values) - set(RankingConfig.objects.values_list("kind", flat=True))


@admin.register(FusionConfig)
class FusionConfigAdmin(ConfigurationAdmin):
    limits = FUSION_LIMITS
    list_display = ("__str__", *FUSION_LIMITS.fields, "version", "updated_at")


@admin.register(BriefingConfig)
class BriefingConfigAdmin(ConfigurationAdmin):
    limits = BRIEFING_LIMITS
    list_display = ("__str__", *BRIEFING_LIMITS.fields, "version", "updated_at")


@admin.register(CodeConfig)
class CodeConfigAdmin(ConfigurationAdmin):
    limits = CODE_LIMITS
    list_display = ("__str__", *CODE_LIMITS.fields, "version", "updated_at")


@admin.register(FreshnessConfig)
class FreshnessConfigAdmin(ConfigurationAdmin):
    limits = FRESHNESS_LIMITS
    list_display = ("__str__", *FRESHNESS_LIMITS.fields, "version", "updated_at")


@admin.register(FusionWeights)
class FusionWeightsAdmin(ConfigurationAdmin):
    limits = WEIGHTS_LIMITS
    list_display = ("__str__", *WEIGHTS_LIMITS.fields, "version", "updated_at")


@admin.register(ReinforcementConfig)
class ReinforcementConfigAdmin(ConfigurationAdmin):
    limits = REINFORCEMENT_LIMITS
    list_display = ("__str__", *REINFORCEMENT_LIMITS.fields, "version", "updated_at")


@admin.register(ConfigVersion)
class ConfigVersionAdmin(ReadOnlyAdmin):
    list_display = ("table", "row", "version", "changed_at", "changed_by", "change", "reason")
    list_filter = ("table",)
    list_select_related = ("changed_by",)
    ordering = ("-changed_at", "-pk")

    @admin.display
    def change(self, version: ConfigVersion) -> str:
        return difference(version)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and request.user.is_staff)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("at", "actor", "action", "object_type", "object_id", "scope", "reason")
    list_filter = ("action", "object_type")
    list_select_related = ("scope",)
    search_fields = ("actor", "object_id")
    ordering = ("-at", "-pk")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        """Accounts, configuration, and the scopes the person may read: a reason can quote what a memory says."""
        readable = actor_for_request(request).readable
        return AuditEntry.objects.filter(Q(scope__isnull=True) | Q(scope_id__in=readable)).select_related("scope")


class NewPersonForm(forms.ModelForm):
    """Without a password: whoever is new chooses one after following a one-time link."""

    class Meta:
        model = User
        fields = ("username", "email", "is_staff")


@admin.register(User)
class PersonAdmin(UserAdmin):
    list_display = ("username", "email", "is_staff", "is_active", "must_choose_password", "last_login")
    list_filter = ("is_staff", "is_active")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username",)}),
        ("Person", {"fields": ("first_name", "last_name", "email")}),
        ("Rights", {"fields": ("is_active", "is_staff", "is_superuser")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    add_form = NewPersonForm
    add_fieldsets = ((None, {"fields": ("username", "email", "is_staff")}),)
    readonly_fields = ("last_login", "date_joined")
    actions = ("make_sign_in_link",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: what a person wrote stays attributed. Deactivate the account instead."""
        return False

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        if not change:
            obj.set_unusable_password()
            obj.must_choose_password = True
        super().save_model(request, obj, form, change)
        action = "change_user" if change else "create_user"
        record(actor=actor_for_request(request), action=action, subject=obj, fields=sorted(form.changed_data))
        if not change and self.has_invite_permission(request):
            self._invite(request, obj)

    @admin.action(description="Make a one-time sign-in link", permissions=["invite"])
    def make_sign_in_link(self, request: HttpRequest, people: QuerySet[User]) -> None:
        for person in people.filter(is_active=True):
            self._invite(request, person)

    @staticmethod
    def _invite(request: HttpRequest, person: User) -> None:
        secret = create_sign_in_link(person, label=actor_for_request(request).label)
        address = request.build_absolute_uri(reverse("sign_in_link", args=[secret]))
        messages.warning(request, f"Give this link to {person}; it signs in once, within 24 hours: {address}")

    def has_invite_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)  # whoever holds a link signs in as that person


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Scope)
class ScopeAdmin(ReadOnlyAdmin):
    list_display = ("slug", "name", "owner", "retention", "created_at")
    list_filter = ("retention",)
    list_select_related = ("owner",)
    search_fields = ("slug", "name", "owner__username")
    inlines = (MembershipInline,)


@admin.register(Token)
class TokenAdmin(ReadOnlyAdmin):
    list_display = ("name", "hint", "user", "can_write", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_select_related = ("user",)
    search_fields = ("name", "hint", "user__username")
    exclude = ("secret_sha256",)


@admin.register(Memory)
class MemoryAdmin(ReadOnlyAdmin):
    """Read only, and only what the person may read anyway: a text changes on its own page, as a new version."""

    list_display = ("headline", "kind", "scope", "state", "created_at")
    list_filter = ("kind", "pinned")
    search_fields = ("id",)
    search_help_text = "The id of a memory"
    exclude = ("superseded_by",)  # its headline may belong to a scope that the person cannot read
    ordering = ("-created_at", "-pk")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Memory]:
        return Memory.objects.visible_to(actor_for_request(request)).for_list()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term:
            return queryset, False
        try:
            return queryset.filter(pk=uuid.UUID(search_term.strip())), False
        except ValueError:
            return queryset.none(), False
