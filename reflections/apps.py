from django.apps import AppConfig


class ReflectionsConfig(AppConfig):
    name = "reflections"
