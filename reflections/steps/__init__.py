"""The steps of the hygiene cycle, one a file: ``work(scope, progress)`` and ``survey(scope)``."""
