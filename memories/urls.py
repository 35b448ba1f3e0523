from django.urls import URLPattern, path

from memories import people_views
from memories.views import browse, detail

urlpatterns: list[URLPattern] = [
    path("choose-password/", people_views.choose_password, name="choose_password"),
    path("memories/", browse.memory_list, name="memory_list"),
    path("memories/new/", detail.memory_new, name="memory_new"),
    path("memories/<uuid:memory_id>/", detail.memory_detail, name="memory_detail"),
    path("memories/<uuid:memory_id>/edit/", detail.memory_edit, name="memory_edit"),
    path("memories/<uuid:memory_id>/forget/", detail.memory_forget, name="memory_forget"),
    path("memories/<uuid:memory_id>/pin/", detail.memory_pin, name="memory_pin"),
    path("memories/<uuid:memory_id>/restore/", detail.memory_restore, name="memory_restore"),
    path("memories/<uuid:memory_id>/unpin/", detail.memory_unpin, name="memory_unpin"),
    path("sign-in/", people_views.sign_in, name="sign_in"),
    path("sign-in/<str:secret>/", people_views.sign_in_link, name="sign_in_link"),
    path("sign-out/", people_views.sign_out, name="sign_out"),
]
