"""One small backup of every released version, with what its people saw. No later version may show anything else.

``.venv/bin/python -m tests.acceptance.released`` records the version at hand; it replaces none that is there.
"""
