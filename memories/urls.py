from django.urls import URLPattern, path

from memories import people_views
from memories.views import account, browse, detail, embedder, ranking, scopes, tokens, verifying, writing

urlpatterns: list[URLPattern] = [
    path("choose-password/", people_views.choose_password, name="choose_password"),
    path("memories/", browse.memory_list, name="memory_list"),
    path("memories/new/", writing.memory_new, name="memory_new"),
    path("memories/<uuid:memory_id>/", detail.memory_detail, name="memory_detail"),
    path("memories/<uuid:memory_id>/edit/", writing.memory_edit, name="memory_edit"),
    path("memories/<uuid:memory_id>/forget/", writing.memory_forget, name="memory_forget"),
    path("memories/<uuid:memory_id>/pin/", writing.memory_pin, name="memory_pin"),
    path("memories/<uuid:memory_id>/restore/", writing.memory_restore, name="memory_restore"),
    path("memories/<uuid:memory_id>/unpin/", writing.memory_unpin, name="memory_unpin"),
    path("memories/<uuid:memory_id>/verify/", verifying.memory_verify, name="memory_verify"),
    path("scopes/", scopes.scope_list, name="scope_list"),
    path("scopes/<int:scope_id>/", scopes.scope_detail, name="scope_detail"),
    path("scopes/<int:scope_id>/leave/", scopes.scope_leave, name="scope_leave"),
    path("scopes/<int:scope_id>/members/", scopes.scope_set_member, name="scope_set_member"),
    path("scopes/<int:scope_id>/members/<int:user_id>/remove/", scopes.scope_remove_member, name="scope_remove_member"),
    path("scopes/<int:scope_id>/rename/", scopes.scope_rename, name="scope_rename"),
    path("settings/", account.settings_page, name="settings_page"),
    path("settings/embedder/", embedder.embedder_page, name="embedder_page"),
    path("settings/embedder/pause/", embedder.embedder_pause, name="embedder_pause"),
    path("settings/embedder/resume/", embedder.embedder_resume, name="embedder_resume"),
    path("settings/embedder/roll-back/", embedder.embedder_roll_back, name="embedder_roll_back"),
    path("settings/password/", account.settings_password, name="settings_password"),
    path("settings/ranking/", ranking.ranking_page, name="ranking_page"),
    path("sign-in/", people_views.sign_in, name="sign_in"),
    path("sign-in/<str:secret>/", people_views.sign_in_link, name="sign_in_link"),
    path("sign-out/", people_views.sign_out, name="sign_out"),
    path("tokens/", tokens.token_list, name="token_list"),
    path("tokens/new/", tokens.token_new, name="token_new"),
    path("tokens/<int:token_id>/first-write/", tokens.token_first_write, name="token_first_write"),
    path("tokens/<int:token_id>/revoke/", tokens.token_revoke, name="token_revoke"),
]
