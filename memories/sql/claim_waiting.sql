-- Take up live memories without vectors of the embedder in use, never tried ones first. Nothing stays locked while the
-- model works. Not "<>": an index serves only the two halves. Materialized: a join could run the choice several times,
-- and each time it would choose others.
WITH chosen AS MATERIALIZED (
    SELECT id
    FROM memories
    WHERE (embedded_with < %(stamp)s OR embedded_with > %(stamp)s)
      AND invalidated_at IS NULL
      AND (embedding_claimed_at IS NULL OR embedding_claimed_at < now() - make_interval(mins => %(minutes)s))
      AND (%(only)s::uuid IS NULL OR id = %(only)s::uuid)
    ORDER BY embedding_claimed_at NULLS FIRST, recorded_at, id
    LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
)
UPDATE memories SET embedding_claimed_at = now()
FROM chosen
WHERE memories.id = chosen.id
RETURNING memories.id
