-- Live memories of the scope that share at least half of the words with this one, those sharing most first.
WITH words AS MATERIALIZED (
    SELECT phraseto_tsquery('simple', zm_parts(word)) AS query FROM unnest(%(words)s::text[]) AS word
),
shared AS (
    SELECT w.memory_id, (SELECT count(*) FROM words WHERE w.document @@ words.query) AS shared
    FROM memory_window w
    JOIN memories m ON m.id = w.memory_id
    WHERE w.live
      AND w.position = 0
      AND w.document @@ (SELECT string_agg('(' || query::text || ')', ' | ')::tsquery FROM words WHERE numnode(query) > 0)
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
