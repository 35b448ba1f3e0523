"""Record the version at hand: ``VERSION.backup.gz`` and, beside it, ``VERSION.json``."""

import gzip
import json
import os
import sys
from contextlib import chdir
from pathlib import Path

from tests.acceptance.instance import open_folder
from zeromemory import __version__, embedded

FOLDER = Path(__file__).parent


def main() -> None:
    target = FOLDER / f"{__version__}.backup.gz"
    if target.exists():
        sys.exit(f"{target} is there already. A released version is recorded once.")
    with open_folder() as folder, chdir(folder):
        os.environ |= {"ZEROMEMORY_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "zeromemory.settings"}
        with embedded.running(folder / "postgres", settings=embedded.FOR_TESTS) as url:
            os.environ["DATABASE_URL"] = url
            target.write_bytes(gzip.compress(record(folder / "taken"), mtime=0))
            print(f"Recorded {target.name}: {target.stat().st_size:,} bytes")


def record(taken: Path) -> bytes:
    import django

    django.setup()
    from django.core.management import call_command

    from tests.acceptance.released.corpus import fill, seen
    from zeromemory import backup

    call_command("migrate", verbosity=0)
    fill()
    backup.take(taken)
    (FOLDER / f"{__version__}.json").write_text(json.dumps(seen(), indent=1, sort_keys=True) + "\n")
    return taken.read_bytes()


main()
