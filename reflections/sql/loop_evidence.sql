-- For each of some open loops the nearest memories that were learned after it and are no loops themselves. Once a judge
-- has looked at a loop, only what got its vector since is evidence: what was passed over then is not looked at again.
-- {dimensions} is a checked number; with it the index of the vectors serves the first look. Later looks compare with
-- the little that is new: the index would walk over all that is near and old.
WITH told AS MATERIALIZED (
    SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true)
),
loop AS MATERIALIZED (
    SELECT m.id, m.scope_id, m.created_at, e.vector, looked.at AS looked_at
    FROM told, memories m
    JOIN memory_window w ON w.memory_id = m.id AND w.position = 0
    JOIN memory_embedding e ON e.window_id = w.id
    CROSS JOIN LATERAL (
        SELECT max(j.at) AS at FROM reflection_judged j
        WHERE j.scanner = %(scanner)s AND m.id IN (j.low_id, j.high_id)
    ) AS looked
    WHERE m.id = ANY (%(loops)s::uuid[]) AND e.live
      AND e.model = %(model)s AND e.model_version = %(version)s AND e.dimensions = {dimensions}
),
fresh AS MATERIALIZED (
    SELECT e.memory_id, e.vector, m.scope_id, m.created_at, m.embedded_at
    FROM memories m
    JOIN memory_embedding e ON e.memory_id = m.id
    WHERE m.scope_id IN (SELECT scope_id FROM loop) AND m.embedded_at > (SELECT min(looked_at) FROM loop)
      AND m.kind <> ALL (%(no_evidence)s) AND m.invalidated_at IS NULL
      AND e.live AND e.dimensions = {dimensions} AND e.model = %(model)s AND e.model_version = %(version)s
),
near AS (
    SELECT loop.id, first_look.memory_id, first_look.distance
    FROM loop,
    LATERAL (
        SELECT e.memory_id, e.vector <=> loop.vector AS distance
        FROM memory_embedding e
        JOIN memories m ON m.id = e.memory_id
        WHERE e.live AND e.dimensions = {dimensions} AND e.model = %(model)s AND e.model_version = %(version)s
          AND m.scope_id = loop.scope_id AND m.created_at > loop.created_at
          AND m.kind <> ALL (%(no_evidence)s) AND m.invalidated_at IS NULL
        ORDER BY e.vector::halfvec({dimensions}) <=> loop.vector::halfvec({dimensions})
        LIMIT %(nearest)s
    ) AS first_look
    WHERE loop.looked_at IS NULL
    UNION ALL
    SELECT loop.id, later_look.memory_id, later_look.distance
    FROM loop,
    LATERAL (
        SELECT fresh.memory_id, fresh.vector <=> loop.vector AS distance
        FROM fresh
        WHERE fresh.scope_id = loop.scope_id AND fresh.created_at > loop.created_at
          AND fresh.embedded_at > loop.looked_at
        ORDER BY fresh.vector <=> loop.vector
        LIMIT %(nearest)s
    ) AS later_look
    WHERE loop.looked_at IS NOT NULL
)
SELECT id, memory_id, max(1 - distance) AS cosine
FROM near
WHERE distance <= 1 - %(cosine)s
GROUP BY id, memory_id
ORDER BY id, cosine DESC, memory_id
