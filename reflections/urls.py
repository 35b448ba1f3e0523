from django.urls import URLPattern, path

from reflections import briefing_views, code_views, rule_views, run_views, views
from reflections.inbox import bulk_views
from reflections.inbox import views as inbox_views

urlpatterns: list[URLPattern] = [
    path("inbox/", inbox_views.inbox, name="inbox"),
    path("inbox/bulk/", bulk_views.inbox_bulk, name="inbox_bulk"),
    path("inbox/<slug:source>/<uuid:item_id>/<slug:action>/", inbox_views.inbox_act, name="inbox_act"),
    path("repositories/<str:repository>/ask/", code_views.code_ask, name="code_ask"),
    path("memories/<uuid:memory_id>/challenge/", inbox_views.memory_challenge, name="memory_challenge"),
    path("briefing/", briefing_views.briefing_page, name="briefing_page"),
    path("reflections/", views.reflection_list, name="reflection_list"),
    path("reflections/find/", views.reflection_find, name="reflection_find"),
    path("reflections/runs/<uuid:run_id>/", views.reflection_run, name="reflection_run"),
    path("reflections/<uuid:candidate_id>/", views.reflection_detail, name="reflection_detail"),
    path("reflections/clusters/<int:cluster_id>/retry/", views.reflection_retry, name="reflection_retry"),
    path("reflections/<uuid:candidate_id>/similar/", views.reflection_similar, name="reflection_similar"),
    path("reflections/<uuid:candidate_id>/approve/", views.reflection_approve, name="reflection_approve"),
    path("reflections/<uuid:candidate_id>/dismiss/", views.reflection_dismiss, name="reflection_dismiss"),
    path("reflections/<uuid:candidate_id>/snooze/", views.reflection_snooze, name="reflection_snooze"),
    path("reflections/<uuid:candidate_id>/undo/", views.reflection_undo, name="reflection_undo"),
    path("memories/<uuid:memory_id>/rule/", rule_views.rule_of_memory, name="rule_of_memory"),
    path("rules/", rule_views.rule_list, name="rule_list"),
    path("rules/download/", rule_views.rule_download, name="rule_download"),
    path("rules/<uuid:rule_id>/pin/", rule_views.rule_pin, name="rule_pin"),
    path("rules/<uuid:rule_id>/unpin/", rule_views.rule_unpin, name="rule_unpin"),
    path("rules/<uuid:rule_id>/reword/", rule_views.rule_reword, name="rule_reword"),
    path("rules/<uuid:rule_id>/revoke/", rule_views.rule_revoke, name="rule_revoke"),
    path("rules/<uuid:rule_id>/undo/", rule_views.rule_undo, name="rule_undo"),
    path("runs/", run_views.run_list, name="run_list"),
    path("runs/start/", run_views.run_start, name="run_start"),
    path("runs/<uuid:run_id>/", run_views.run_detail, name="run_detail"),
    path("runs/<uuid:run_id>/cancel/", run_views.run_cancel, name="run_cancel"),
    path("runs/<uuid:run_id>/again/", run_views.run_again, name="run_again"),
]
