from django.apps import AppConfig


class ZeroMemoryConfig(AppConfig):
    name = "zeromemory"

    def ready(self) -> None:
        from zeromemory.celery import app

        app.set_default()  # so that every shared_task rings our broker, also from the web process
