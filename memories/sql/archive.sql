-- Let go of these memories, if they still are below the floor and nothing keeps them: into the archive, each with an
-- entry in the audit trail. What was retired before keeps who retired it, why, and its successor.
WITH held AS MATERIALIZED (
    SELECT id, scope_id, weight, updated_at, invalidated_at IS NULL AS was_live
    FROM memories
    WHERE
        id = ANY (%(ids)s::uuid[]) AND archived_at IS NULL AND weight < %(floor)s
        AND NOT (pinned AND invalidated_at IS NULL)
        AND NOT (kind = ANY (%(protected)s) AND provenance > %(provisional)s)
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
),
archived AS (
    UPDATE memories
    SET
        archived_at = %(now)s,
        invalidated_at = coalesce(invalidated_at, %(now)s),
        invalidated_actor = CASE WHEN held.was_live THEN %(actor)s ELSE invalidated_actor END,
        invalidated_by_id = CASE WHEN held.was_live THEN %(user)s::bigint ELSE invalidated_by_id END,
        invalidation_reason = CASE WHEN held.was_live THEN %(reason)s ELSE invalidation_reason END,
        updated_at = CASE WHEN held.was_live THEN %(now)s ELSE memories.updated_at END
    FROM held
    WHERE memories.id = held.id
)
INSERT INTO audit_entry (at, user_id, actor, action, scope_id, object_type, object_id, reason, detail)
SELECT
    statement_timestamp(), %(user)s, %(actor)s, 'archive', scope_id, 'memory', id::text, %(reason)s,
    jsonb_build_object('cycle', %(cycle)s::text, 'weight', weight, 'was_live', was_live, 'updated_at', updated_at)
FROM held
