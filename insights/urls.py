from django.urls import URLPattern, path

from insights import activity_views, evaluation_views, today, views

urlpatterns: list[URLPattern] = [
    path("", today.today, name="today"),
    path("demo/", today.load_demo, name="load_demo"),
    path("activity/", activity_views.activity, name="activity"),
    path("insights/", views.insights, name="insights"),
    path("insights/quality/", evaluation_views.evaluation_list, name="evaluation_list"),
    path("insights/quality/<int:evaluation_id>/", evaluation_views.evaluation_run, name="evaluation_run"),
    path("insights/quality/<int:evaluation_id>.csv", evaluation_views.evaluation_csv, name="evaluation_csv"),
    path("insights/<slug:name>.csv", views.table_csv, name="insights_csv"),
]
