#!/usr/bin/env python
"""Command line of Zero Memory."""

from zeromemory.command_line import main

if __name__ == "__main__":
    main()
