from django.contrib import admin

from memories.configuration_admin import ConfigurationAdmin
from reflections.limits import REFLECTION_LIMITS
from reflections.models import ReflectionConfig


@admin.register(ReflectionConfig)
class ReflectionConfigAdmin(ConfigurationAdmin):
    limits = REFLECTION_LIMITS
    list_display = ("__str__", *REFLECTION_LIMITS.fields, "version", "updated_at")
