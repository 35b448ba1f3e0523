from django.contrib import admin

from memories.configuration_admin import ConfigurationAdmin
from reflections.limits import HYGIENE_LIMITS, REFLECTION_LIMITS
from reflections.models import HygieneConfig, ReflectionConfig


@admin.register(ReflectionConfig)
class ReflectionConfigAdmin(ConfigurationAdmin):
    limits = REFLECTION_LIMITS
    list_display = ("__str__", *REFLECTION_LIMITS.fields, "version", "updated_at")


@admin.register(HygieneConfig)
class HygieneConfigAdmin(ConfigurationAdmin):
    limits = HYGIENE_LIMITS
    list_display = ("__str__", *HYGIENE_LIMITS.fields, "version", "updated_at")
