-- For each of some live memories the nearest others of its scope by the vector of its opening, episodes left aside: what
-- happened twice is no duplicate. {dimensions} is a checked number; with it the index of the vectors serves.
WITH told AS MATERIALIZED (
    SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true)
),
subject AS MATERIALIZED (
    SELECT m.id, m.scope_id, e.vector
    FROM told, memories m
    JOIN memory_window w ON w.memory_id = m.id AND w.position = 0
    JOIN memory_embedding e ON e.window_id = w.id
    WHERE m.id = ANY (%(subjects)s::uuid[]) AND e.live
      AND e.model = %(model)s AND e.model_version = %(version)s AND e.dimensions = {dimensions}
)
SELECT subject.id, near.memory_id, max(1 - near.distance) AS cosine
FROM subject,
LATERAL (
    SELECT e.memory_id, e.vector <=> subject.vector AS distance
    FROM memory_embedding e
    JOIN memories m ON m.id = e.memory_id
    WHERE e.live AND e.dimensions = {dimensions} AND e.model = %(model)s AND e.model_version = %(version)s
      AND e.memory_id <> subject.id AND m.scope_id = subject.scope_id AND m.kind <> 'episode'
      AND m.invalidated_at IS NULL
    ORDER BY e.vector::halfvec({dimensions}) <=> subject.vector::halfvec({dimensions})
    LIMIT %(nearest)s
) AS near
WHERE near.distance <= 1 - %(cosine)s
GROUP BY subject.id, near.memory_id
ORDER BY subject.id, cosine DESC, near.memory_id
