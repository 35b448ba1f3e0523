-- Store vectors of windows; the memories that were free to take them, or are gone. {skip} leaves out, for now, those that
-- somebody is changing: waiting for one while holding others could end in a deadlock with whoever changes two at once.
-- The trigger would take the same lock, row by row, without leaving any out.
WITH made AS MATERIALIZED (
    SELECT *
    FROM unnest(%(windows)s::bigint[], %(memories)s::uuid[], %(vectors)s::text[]) AS made(window_id, memory_id, vector)
),
free AS MATERIALIZED (
    SELECT id FROM memories WHERE id = ANY (%(memories)s::uuid[]) ORDER BY id FOR SHARE {skip}
),
stored AS (
    INSERT INTO memory_embedding (window_id, memory_id, model, model_version, dimensions, vector, live, created_at)
    SELECT made.window_id, made.memory_id, %(model)s, %(version)s, %(dimensions)s, made.vector::vector, true, now()
    FROM made
    JOIN free ON free.id = made.memory_id
    ORDER BY made.window_id
    ON CONFLICT ON CONSTRAINT embedding_window_model_unique DO NOTHING
)
SELECT id FROM free
