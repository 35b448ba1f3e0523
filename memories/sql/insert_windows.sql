-- Not bulk_create: that returns every generated document, megabytes for a long text.
INSERT INTO memory_window (memory_id, position, start, stop, text, live)
SELECT %(memory)s, place - 1, start, stop, text, true
FROM unnest(%(starts)s::integer[], %(stops)s::integer[], %(texts)s::text[]) WITH ORDINALITY AS span(start, stop, text, place)
ON CONFLICT ON CONSTRAINT window_memory_position_unique DO NOTHING
