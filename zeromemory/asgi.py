import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zeromemory.settings")
_django = get_asgi_application()

from zeromemory.mcp.door import with_door  # noqa: E402  models can be imported once Django is set up

application = with_door(_django)  # type: ignore[arg-type]  # Django types what it is given as dict, narrower than ASGI does
