-- For each of some open loops the nearest memories that were learned after it and are no loops themselves. Once a judge
-- has looked at a loop, only what got its vector since is evidence: what was passed over then is not looked at again.
-- {dimensions} is a checked number; with it the index of the vectors serves a first look at much. Where little was
-- learned after the loop, and in later looks, all of it is compared: the index would walk over all that is near and old,
-- or lies in other scopes, and might give up before it.
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
first_look AS MATERIALIZED (
    SELECT loop.*, NOT EXISTS (
        SELECT FROM memories m
        WHERE m.scope_id = loop.scope_id AND m.created_at > loop.created_at AND m.invalidated_at IS NULL
        ORDER BY m.created_at DESC
        OFFSET %(exact_up_to)s
        LIMIT 1
    ) AS at_little
    FROM loop
    WHERE looked_at IS NULL
),
fresh AS MATERIALIZED (
    SELECT e.memory_id, e.vector, m.scope_id, m.created_at, m.embedded_at
    FROM memories m
    JOIN memory_embedding e ON e.memory_id = m.id
    WHERE m.scope_id IN (SELECT scope_id FROM loop) AND m.embedded_at > (SELECT min(looked_at) FROM loop)
      AND m.kind <> ALL (%(no_evidence)s) AND m.invalidated_at IS NULL
      AND (m.valid_until IS NULL OR m.valid_until > now())
      AND e.live AND e.dimensions = {dimensions} AND e.model = %(model)s AND e.model_version = %(version)s
),
near AS (
    SELECT looking.id, e.memory_id, e.vector <=> looking.vector AS distance
    FROM first_look AS looking,
    LATERAL (
        SELECT m.id
        FROM memories m
        WHERE m.scope_id = looking.scope_id AND m.created_at > looking.created_at
          AND m.kind <> ALL (%(no_evidence)s) AND m.invalidated_at IS NULL
          AND (m.valid_until IS NULL OR m.valid_until > now())
        ORDER BY m.created_at DESC
        LIMIT %(exact_up_to)s
    ) AS few
    JOIN memory_embedding e ON e.memory_id = few.id
    WHERE looking.at_little
      AND e.live AND e.dimensions = {dimensions} AND e.model = %(model)s AND e.model_version = %(version)s
    UNION ALL
    SELECT looking.id, indexed.memory_id, indexed.distance
    FROM first_look AS looking,
    LATERAL (
        SELECT e.memory_id, e.vector <=> looking.vector AS distance
        FROM memory_embedding e
        JOIN memories m ON m.id = e.memory_id
        WHERE e.live AND e.dimensions = {dimensions} AND e.model = %(model)s AND e.model_version = %(version)s
          AND m.scope_id = looking.scope_id AND m.created_at > looking.created_at
          AND m.kind <> ALL (%(no_evidence)s) AND m.invalidated_at IS NULL
          AND (m.valid_until IS NULL OR m.valid_until > now())
        ORDER BY e.vector::halfvec({dimensions}) <=> looking.vector::halfvec({dimensions})
        LIMIT %(windows)s
    ) AS indexed
    WHERE NOT looking.at_little
    UNION ALL
    SELECT loop.id, fresh.memory_id, fresh.vector <=> loop.vector
    FROM loop
    JOIN fresh ON fresh.scope_id = loop.scope_id AND fresh.created_at > loop.created_at
        AND fresh.embedded_at > loop.looked_at
),
ranked AS (
    SELECT
        id, memory_id, 1 - min(distance) AS cosine,
        row_number() OVER (PARTITION BY id ORDER BY min(distance), memory_id) AS rank
    FROM near
    WHERE distance <= 1 - %(cosine)s
    GROUP BY id, memory_id
)
SELECT id, memory_id, cosine FROM ranked WHERE rank <= %(nearest)s ORDER BY id, rank
