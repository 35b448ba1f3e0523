from django.contrib import admin
from django.urls import include, path

from zeromemory import api, health

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("api/v1/", api.routes()),
    path("admin/", admin.site.urls),
    path("", include("memories.urls")),
    path("", include("reflections.urls")),
    path("", include("insights.urls")),
]

handler500 = "zeromemory.error_pages.server_error"
