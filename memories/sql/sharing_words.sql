-- Live memories of the scope that share at least half of the words with this one, those sharing most first.
-- A text nearly equal misses a few words at most, so it has one of every three: that spares reading all the memories
-- that share a common word or two.
WITH words AS MATERIALIZED (
    SELECT place %% greatest(1, count(*) OVER () / 3) AS trio, query
    FROM unnest(%(words)s::text[]) WITH ORDINALITY AS word(text, place),
    LATERAL phraseto_tsquery('simple', zm_parts(text)) AS query
    WHERE numnode(query) > 0
),
trios AS (
    SELECT string_agg('(' || query::text || ')', ' | ') AS any_word FROM words GROUP BY trio
),
shared AS (
    SELECT w.memory_id, (SELECT count(*) FROM words WHERE w.document @@ words.query) AS shared
    FROM memory_window w
    JOIN memories m ON m.id = w.memory_id
    WHERE w.live
      AND w.position = 0
      AND w.document @@ (SELECT string_agg('(' || any_word || ')', ' & ')::tsquery FROM trios)
      AND m.scope_id = %(scope)s
      AND m.id <> %(memory)s
      AND (m.valid_until IS NULL OR m.valid_until > now())
)
SELECT m.id, m.scope_id, m.kind, m.created_at, m.version, left(m.content, 1500) AS opening
FROM shared
JOIN memories m ON m.id = shared.memory_id
WHERE 2 * shared.shared >= (SELECT count(*) FROM words)
ORDER BY shared.shared DESC, m.created_at DESC, m.id
LIMIT 10
