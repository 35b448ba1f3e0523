"""Where another process finds the database of the tests."""

from urllib.parse import quote

from django.db import connection


def database_url() -> str:
    parts = connection.settings_dict
    port = f"&port={parts['PORT']}" if parts["PORT"] else ""
    password = f":{quote(parts['PASSWORD'])}" if parts["PASSWORD"] else ""
    return f"postgresql://{parts['USER']}{password}@/{parts['NAME']}?host={quote(parts['HOST'], safe='')}{port}"
