"""The Celery application. Rows are the list of work; the queue is only a doorbell."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zeromemory.settings")

app = Celery("zeromemory")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
