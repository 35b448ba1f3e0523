"""One inbox for every doubt: all that waits for a person, whatever table it stands in."""
