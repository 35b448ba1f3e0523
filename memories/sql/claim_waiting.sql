-- Take up live memories without vectors, never tried ones first. Nothing stays locked while the model works.
UPDATE memories SET embedding_claimed_at = now()
WHERE id IN (
    SELECT id
    FROM memories
    WHERE embedded_at IS NULL
      AND invalidated_at IS NULL
      AND (embedding_claimed_at IS NULL OR embedding_claimed_at < now() - make_interval(mins => %(minutes)s))
      AND (%(only)s::uuid IS NULL OR id = %(only)s::uuid)
    ORDER BY embedding_claimed_at NULLS FIRST, recorded_at, id
    LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
)
RETURNING id
