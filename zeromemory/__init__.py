"""Zero Memory: a self-hosted memory store for AI agents that gets better with time."""

__version__ = "0.1.0"
