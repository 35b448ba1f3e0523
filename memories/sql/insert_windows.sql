-- Not bulk_create: that returns every generated document, megabytes for a long text.
INSERT INTO memory_window (memory_id, position, start, stop, text, live)
SELECT memory, position, start, stop, text, true
FROM unnest(
    %(memories)s::uuid[], %(positions)s::integer[], %(starts)s::integer[], %(stops)s::integer[], %(texts)s::text[]
) AS span(memory, position, start, stop, text)
ON CONFLICT ON CONSTRAINT window_memory_position_unique DO NOTHING
