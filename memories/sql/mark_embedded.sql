-- Of the memories taken up, stamp those whose windows all have vectors, and give the rest of a long text back: it may be
-- taken up again at once, after all that was never tried. Not through save(): being embedded is no change by anybody, so
-- updated_at stays. {skip} as in insert_vectors.sql. Answers which memories were free.
WITH free AS MATERIALIZED (
    SELECT id FROM memories WHERE id = ANY (%(claimed)s::uuid[]) ORDER BY id FOR NO KEY UPDATE {skip}
),
judged AS MATERIALIZED (
    SELECT free.id, NOT EXISTS (
        SELECT FROM memory_window w
        WHERE w.memory_id = free.id AND NOT EXISTS (
            SELECT FROM memory_embedding e
            WHERE e.window_id = w.id AND e.model = %(model)s AND e.model_version = %(version)s
        )
    ) AS complete
    FROM free
),
finished AS (
    UPDATE memories
    SET embedded_at = now(), embedded_with = %(stamp)s, embedding_error = '', embedding_claimed_at = NULL
    FROM judged
    WHERE memories.id = judged.id AND judged.complete AND memories.embedded_with <> %(stamp)s
),
given_back AS (
    UPDATE memories SET embedding_claimed_at = now() - make_interval(mins => 2 * %(minutes)s)
    FROM judged
    WHERE memories.id = judged.id AND NOT judged.complete
)
SELECT id FROM free
