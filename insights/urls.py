from django.urls import URLPattern, path

from insights import today, views

urlpatterns: list[URLPattern] = [
    path("", today.today, name="today"),
    path("demo/", today.load_demo, name="load_demo"),
    path("insights/", views.insights, name="insights"),
    path("insights/<slug:name>.csv", views.table_csv, name="insights_csv"),
]
