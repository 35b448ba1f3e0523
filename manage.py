#!/usr/bin/env python
"""Command line of Zero Memory."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zeromemory.settings")
    from django.core.management import execute_from_command_line

    from zeromemory import embedded

    with embedded.database_for(sys.argv):
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
