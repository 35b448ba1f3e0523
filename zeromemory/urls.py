from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("memories.urls")),
    path("", include("reflections.urls")),
    path("", include("insights.urls")),
]
