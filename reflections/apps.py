from django.apps import AppConfig


class ReflectionsConfig(AppConfig):
    name = "reflections"

    def ready(self) -> None:
        from memories import doubts
        from memories.embedding_queue import first_embedded
        from reflections import carrying, newcomers
        from reflections.models import Dispute

        doubts.register(Dispute.objects.doubted_among)
        carrying.register()
        first_embedded.connect(newcomers.on_first_embedded, dispatch_uid="newcomers")
