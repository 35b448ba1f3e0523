from django.apps import AppConfig


class ReflectionsConfig(AppConfig):
    name = "reflections"

    def ready(self) -> None:
        from memories import decaying, doubts
        from memories.embedding_queue import first_embedded
        from memories.growth import grew
        from reflections import carrying, consolidation, newcomers
        from reflections.delivery import kept_for_rules
        from reflections.fading import kept_for_a_decision
        from reflections.models import Dispute

        doubts.register(Dispute.objects.doubted_among)
        decaying.spare(kept_for_a_decision)
        decaying.spare(kept_for_rules)
        carrying.register()
        first_embedded.connect(newcomers.on_first_embedded, dispatch_uid="newcomers")
        grew.connect(consolidation.on_growth, dispatch_uid="consolidation")
