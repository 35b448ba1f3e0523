from django.apps import AppConfig


class ReflectionsConfig(AppConfig):
    name = "reflections"

    def ready(self) -> None:
        from memories import doubts
        from reflections import carrying
        from reflections.models import Dispute

        doubts.register(Dispute.objects.doubted_among)
        carrying.register()
