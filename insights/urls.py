from django.urls import URLPattern, path

from insights import activity_views, archive_views, evaluation_views, keeping_views, today, views

urlpatterns: list[URLPattern] = [
    path("", today.today, name="today"),
    path("demo/", today.load_demo, name="load_demo"),
    path("activity/", activity_views.activity, name="activity"),
    path("insights/", views.insights, name="insights"),
    path("insights/quality/", evaluation_views.evaluation_list, name="evaluation_list"),
    path("insights/quality/<int:evaluation_id>/", evaluation_views.evaluation_run, name="evaluation_run"),
    path("insights/quality/<int:evaluation_id>.csv", evaluation_views.evaluation_csv, name="evaluation_csv"),
    path("scopes/<int:scope_id>/archive/", archive_views.scope_archive, name="scope_archive"),
    path("scopes/<int:scope_id>/archive/restore/", archive_views.scope_archive_restore, name="scope_archive_restore"),
    path("scopes/<int:scope_id>/keeping/", keeping_views.scope_keeping, name="scope_keeping"),
    path("scopes/<int:scope_id>/keeping/weights.csv", keeping_views.weights_csv, name="scope_weights_csv"),
    path("scopes/<int:scope_id>/keeping/keep/", keeping_views.scope_keep, name="scope_keep"),
    path(
        "scopes/<int:scope_id>/keeping/keep/<uuid:operation_id>/undo/",
        keeping_views.scope_keep_undo,
        name="scope_keep_undo",
    ),
    path("scopes/<int:scope_id>/keeping/cycle/", keeping_views.scope_cycle, name="scope_cycle"),
    path(
        "scopes/<int:scope_id>/keeping/cycle/<uuid:cycle_id>/back/",
        keeping_views.scope_bring_back,
        name="scope_bring_back",
    ),
    path("insights/<slug:name>.csv", views.table_csv, name="insights_csv"),
]
