-- Which of some names more than so many live memories of a scope speak of, by their entities or in their texts. Counting
-- stops there, so that a name that stands in all of a large scope costs little more than one in a hundred.
SELECT name
FROM unnest(%(names)s::text[]) AS asked(name),
LATERAL (
    SELECT count(*) AS tied
    FROM (
        SELECT
        FROM memories_entity entity
        JOIN memories_memoryentity tie ON tie.entity_id = entity.id
        JOIN memories m ON m.id = tie.memory_id
        WHERE entity.scope_id = %(scope)s AND entity.canonical = asked.name AND m.invalidated_at IS NULL
        LIMIT %(most)s + 1
    ) AS few_tied
) AS by_entity,
LATERAL (
    SELECT count(DISTINCT memory_id) AS told
    FROM (
        SELECT w.memory_id
        FROM memory_window w
        JOIN memories m ON m.id = w.memory_id
        WHERE w.live AND w.document @@ phraseto_tsquery('pg_catalog.simple', zm_parts(asked.name))
          AND m.scope_id = %(scope)s AND m.invalidated_at IS NULL
        LIMIT 4 * (%(most)s + 1)
    ) AS few_told
) AS by_text
WHERE greatest(tied, told) > %(most)s
