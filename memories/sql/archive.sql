-- Let go of these memories, if they are below the floor by now and nothing keeps them: into the archive, each with an
-- entry in the audit trail. What was retired before keeps who retired it, why, and its successor. Whoever was asked for
-- since the cycle looked is heavy again, and stays.
WITH held AS MATERIALIZED (
    SELECT
        id, scope_id, updated_at, invalidated_at IS NULL AS was_live,
        least(weight, power(2, -least(
            %(most)s, greatest(0, extract(epoch FROM (%(now)s - accessed_at))::float8 / 3600) / %(half_life)s
        ))) AS fallen
    FROM memories
    WHERE
        id = ANY (%(ids)s::uuid[]) AND archived_at IS NULL
        AND least(weight, power(2, -least(
            %(most)s, greatest(0, extract(epoch FROM (%(now)s - accessed_at))::float8 / 3600) / %(half_life)s
        ))) < %(floor)s
        AND NOT (pinned AND invalidated_at IS NULL)
        AND NOT (kind = ANY (%(protected)s) AND provenance > %(provisional)s)
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
),
archived AS (
    UPDATE memories
    SET
        archived_at = %(now)s,
        weight = held.fallen,
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
    jsonb_build_object('cycle', %(cycle)s::text, 'weight', fallen, 'was_live', was_live, 'updated_at', updated_at)
FROM held
