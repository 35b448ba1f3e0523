-- One round trip of recall: the candidates of each search leg with all that ranking needs.
-- The parts in braces are constants put in by memories/candidates.py: what counts as live, now or at a moment, and the
-- dimension of the vectors.
WITH given AS MATERIALIZED (
    SELECT place, identifier, english, CASE
        WHEN identifier AND numnode(parts) > 0 THEN parts
        ELSE english || parts
    END AS query, parts
    FROM unnest(%(words)s::text[], %(identifiers)s::boolean[]) WITH ORDINALITY AS word(text, identifier, place),
    LATERAL (
        SELECT plainto_tsquery('pg_catalog.english', text), phraseto_tsquery('pg_catalog.simple', zm_parts(text))
    ) AS parsed(english, parts)
),
-- A word without an English stem is a stop word. Stop words count only in a query that has nothing else.
words AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY identifier DESC, place) - 1 AS bit, identifier, query
    FROM (SELECT *, bool_and(numnode(english) = 0) OVER () AS only_stop_words FROM given WHERE numnode(query) > 0) AS kept
    WHERE only_stop_words OR numnode(english) > 0 OR identifier
    ORDER BY identifier DESC, place
    LIMIT 63
),
asked AS MATERIALIZED (
    SELECT
        string_agg('(' || query::text || ')', ' | ')::tsquery AS any_word,
        coalesce(bit_or(1::bigint << bit::integer) FILTER (WHERE identifier), 0) AS identifiers,
        coalesce(bool_and(identifier), false) AS only_identifiers
    FROM words
),
text_windows AS (
    SELECT
        w.memory_id, w.id AS window_id, m.created_at,
        (SELECT bit_or(1::bigint << bit::integer) FROM words WHERE w.document @@ words.query) AS matched,
        ts_rank(w.document, (SELECT any_word FROM asked), 1) AS density
    FROM memory_window w
    JOIN memories m ON m.id = w.memory_id
    WHERE w.document @@ (SELECT any_word FROM asked) AND {live_window} AND {filters}
    UNION ALL
    SELECT m.id, w.id, m.created_at, 0, 0
    FROM memories m
    LEFT JOIN memory_window w ON w.memory_id = m.id AND w.position = 0
    WHERE m.id = %(direct)s::uuid AND {live_memory} AND {filters}
),
text_memories AS (
    SELECT
        memory_id, created_at, max(density) AS density, coalesce(bit_or(matched), 0) AS matched,
        (array_agg(window_id ORDER BY bit_count(matched::bit(64)) DESC, density DESC, window_id))[1] AS window_id
    FROM text_windows
    GROUP BY memory_id, created_at
),
-- Exactly what was pasted first, then identifiers, then the most distinct words, then the densest, the newest.
text_leg AS MATERIALIZED (
    SELECT
        memory_id, window_id, bit_count(matched::bit(64)) AS words,
        row_number() OVER (
            ORDER BY
                coalesce(memory_id = %(direct)s::uuid, false) DESC,
                bit_count((matched & (SELECT identifiers FROM asked))::bit(64)) DESC,
                bit_count(matched::bit(64)) DESC,
                density DESC, created_at DESC, memory_id
        ) AS rank
    FROM text_memories
    ORDER BY rank
    LIMIT %(pool)s
),
-- Somebody who pastes an error code wants what holds it, not what resembles it: then the vector leg stays away.
by_meaning AS MATERIALIZED (
    SELECT %(vector)s::text IS NOT NULL
        AND NOT ((SELECT only_identifiers FROM asked) AND EXISTS (SELECT 1 FROM text_leg)) AS wanted
),
-- Up to a few thousand memories are compared one by one: as quick as the index, exact, and no filter can starve it.
few AS MATERIALIZED (
    SELECT m.id, m.created_at
    FROM memories m
    WHERE {live_memory} AND {filters} AND (SELECT wanted FROM by_meaning)
    LIMIT %(exact_up_to)s + 1
),
exact AS MATERIALIZED (
    SELECT (SELECT wanted FROM by_meaning) AND (SELECT count(*) FROM few) <= %(exact_up_to)s AS chosen
),
compared AS (
    SELECT e.memory_id, e.window_id, few.created_at, e.vector <=> %(vector)s::vector AS distance
    FROM few
    JOIN memory_embedding e ON e.memory_id = few.id
    WHERE (SELECT chosen FROM exact)
      AND e.dimensions = {dimensions}
      AND e.model = %(model)s
      AND e.model_version = %(model_version)s
),
-- The index gives up after its first handful unless told to go on until the filters have let enough through, and it
-- has to be told before the scan begins: the subquery in ORDER BY is evaluated once, as the scan's starting point.
indexed AS MATERIALIZED (
    SELECT e.memory_id, e.window_id, m.created_at, e.vector <=> %(vector)s::vector AS distance
    FROM memory_embedding e
    JOIN memories m ON m.id = e.memory_id
    WHERE {live_embedding}
      AND e.dimensions = {dimensions}
      AND e.model = %(model)s
      AND e.model_version = %(model_version)s
      AND e.memory_id <> ALL (%(passed_over)s::uuid[])
      AND (SELECT wanted FROM by_meaning)
      AND NOT (SELECT chosen FROM exact)
      AND {filters}
    ORDER BY e.vector::halfvec({dimensions}) <=> (
        SELECT %(vector)s::halfvec({dimensions})
        WHERE set_config('hnsw.iterative_scan', 'relaxed_order', true) IS NOT NULL
          AND set_config('hnsw.ef_search', '100', true) IS NOT NULL
    )
    LIMIT %(windows)s
),
vector_leg AS MATERIALIZED (
    SELECT memory_id, window_id, distance, row_number() OVER (ORDER BY distance, created_at DESC, memory_id) AS rank
    FROM (
        SELECT DISTINCT ON (memory_id) memory_id, window_id, created_at, distance
        FROM (SELECT * FROM compared UNION ALL SELECT * FROM indexed) AS windows
        ORDER BY memory_id, distance, window_id
    ) AS best
    ORDER BY rank
    LIMIT %(pool)s
),
recency_leg AS MATERIALIZED (
    SELECT m.id AS memory_id, row_number() OVER (ORDER BY m.created_at DESC, m.id) AS rank
    FROM memories m
    WHERE %(by_recency)s AND {live_memory} AND {filters}
    ORDER BY m.created_at DESC, m.id
    LIMIT %(pool)s
),
found AS (
    SELECT memory_id FROM text_leg UNION SELECT memory_id FROM vector_leg UNION SELECT memory_id FROM recency_leg
),
-- The excerpt comes from the leg that placed the memory higher; where they agree, from the one a reader can follow.
shown AS (
    SELECT
        found.memory_id, t.rank AS rank_text, v.rank AS rank_vector, r.rank AS rank_recency, t.words, v.distance,
        CASE WHEN t.rank <= coalesce(v.rank, t.rank) THEN t.window_id ELSE v.window_id END AS window_id
    FROM found
    LEFT JOIN text_leg t USING (memory_id)
    LEFT JOIN vector_leg v USING (memory_id)
    LEFT JOIN recency_leg r USING (memory_id)
)
SELECT
    m.id, m.kind, m.created_at, m.provenance, s.retention,
    coalesce(f.multiplier, 1.0) AS reinforcement,
    shown.rank_vector, shown.rank_text, shown.rank_recency,
    1 - coalesce(shown.distance, e.vector <=> %(vector)s::vector) AS similarity,
    coalesce(shown.words, 0) AS text_matched,
    coalesce(w.start, 0) AS start, coalesce(w.stop, 0) AS stop, coalesce(w.text, left(m.content, 1200)) AS text,
    (SELECT count(*) FROM indexed) AS windows_read
FROM shown
JOIN memories m ON m.id = shown.memory_id
JOIN memories_scope s ON s.id = m.scope_id
LEFT JOIN memory_reinforcement f ON f.memory_id = m.id
LEFT JOIN memory_window w ON w.id = shown.window_id
LEFT JOIN memory_embedding e ON e.window_id = shown.window_id AND e.model = %(model)s AND e.model_version = %(model_version)s
    AND e.dimensions = {dimensions} AND shown.distance IS NULL
