from django.apps import AppConfig
from django.conf import settings
from django.contrib.auth.signals import user_logged_in


class MemoriesConfig(AppConfig):
    name = "memories"

    def ready(self) -> None:
        from memories.embedding_queue import first_embedded
        from memories.services import recognition

        if settings.READ_ONLY:
            user_logged_in.disconnect(dispatch_uid="update_last_login")
        first_embedded.connect(recognition.on_first_embedded, dispatch_uid="recognition")
