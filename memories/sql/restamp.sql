-- Call memories embedded by one model those of another, whose vectors they all have: after a change is taken back. Some at
-- a time, and none that somebody is changing, so that nobody waits.
WITH chosen AS MATERIALIZED (
    SELECT m.id
    FROM memories m
    WHERE m.embedded_with = %(from)s
      AND m.invalidated_at IS NULL
      AND NOT EXISTS (
        SELECT FROM memory_window w
        WHERE w.memory_id = m.id AND NOT EXISTS (
            SELECT FROM memory_embedding e
            WHERE e.window_id = w.id AND e.model || ' ' || e.model_version = %(to)s
        )
      )
    LIMIT %(most)s
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE memories SET embedded_with = %(to)s
FROM chosen
WHERE memories.id = chosen.id
