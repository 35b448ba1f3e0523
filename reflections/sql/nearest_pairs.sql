-- For each of some live memories the nearest others of its scope by the vector of its opening, episodes left aside: what
-- happened twice is no duplicate. {dimensions} is a checked number; with it the index of the vectors serves large scopes.
-- In a small one all is compared: the index would walk over the rest of the store and might give up before it.
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
),
scope AS MATERIALIZED (
    SELECT asked.scope_id AS id, NOT EXISTS (
        SELECT FROM memories m
        WHERE m.scope_id = asked.scope_id AND m.invalidated_at IS NULL
        ORDER BY m.created_at DESC
        OFFSET %(exact_up_to)s
        LIMIT 1
    ) AS small
    FROM (SELECT DISTINCT scope_id FROM subject) AS asked
),
compared AS MATERIALIZED (
    SELECT e.memory_id, e.vector, scope.id AS scope_id
    FROM scope,
    LATERAL (
        SELECT m.id
        FROM memories m
        WHERE m.scope_id = scope.id AND m.kind <> 'episode' AND m.invalidated_at IS NULL
          AND (m.valid_until IS NULL OR m.valid_until > now())
        ORDER BY m.created_at DESC
        LIMIT %(exact_up_to)s
    ) AS few
    JOIN memory_embedding e ON e.memory_id = few.id
    WHERE scope.small
      AND e.live AND e.dimensions = {dimensions} AND e.model = %(model)s AND e.model_version = %(version)s
),
near AS (
    SELECT subject.id, compared.memory_id, compared.vector <=> subject.vector AS distance
    FROM subject
    JOIN compared ON compared.scope_id = subject.scope_id AND compared.memory_id <> subject.id
    UNION ALL
    SELECT subject.id, indexed.memory_id, indexed.distance
    FROM subject
    JOIN scope ON scope.id = subject.scope_id AND NOT scope.small,
    LATERAL (
        SELECT e.memory_id, e.vector <=> subject.vector AS distance
        FROM memory_embedding e
        -- Looked up one by one: not knowing how large the scope is, the planner would else read all of it.
        CROSS JOIN LATERAL (
            SELECT FROM memories m
            WHERE m.id = e.memory_id AND m.scope_id = subject.scope_id AND m.kind <> 'episode'
              AND m.invalidated_at IS NULL AND (m.valid_until IS NULL OR m.valid_until > now())
            OFFSET 0
        ) AS m
        WHERE e.live AND e.dimensions = {dimensions} AND e.model = %(model)s AND e.model_version = %(version)s
          AND e.memory_id <> subject.id
        ORDER BY e.vector::halfvec({dimensions}) <=> subject.vector::halfvec({dimensions})
        LIMIT %(windows)s
    ) AS indexed
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
