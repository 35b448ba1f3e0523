from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "memories"

    def ready(self) -> None:
        from memories.embedding_queue import first_embedded
        from memories.services import recognition

        first_embedded.connect(recognition.on_first_embedded, dispatch_uid="recognition")
