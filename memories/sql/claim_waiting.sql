-- Take up live memories that lack vectors, never tried ones first. Nothing stays locked while the model works. {which} is
-- one of the two conditions of memories/embedding_queue.py. Materialized: a join could run the choice several times, and
-- each time it would choose others.
WITH chosen AS MATERIALIZED (
    SELECT id
    FROM memories
    WHERE {which}
      AND invalidated_at IS NULL
      AND (embedding_claimed_at IS NULL OR embedding_claimed_at < now() - make_interval(mins => %(minutes)s))
      AND (%(only)s::uuid IS NULL OR id = %(only)s::uuid)
    ORDER BY embedding_claimed_at NULLS FIRST, recorded_at, id
    LIMIT %(most)s
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE memories SET embedding_claimed_at = now()
FROM chosen
WHERE memories.id = chosen.id
RETURNING memories.id
