-- What each agent wrote to some scopes in a period, and what has become of it. The audit trail tells who wrote when, and
-- what was sent again; the memories, what they are today. An agent is one under all spellings of its name.
WITH acts AS MATERIALIZED (
    SELECT a.action, a.user_id, a.object_id, coalesce(a.detail->>'agent', '') AS repeater, a.id
    FROM audit_entry a
    WHERE a.scope_id = ANY (%(scopes)s::bigint[]) AND a.at >= %(since)s
        AND a.object_type = 'memory' AND a.action IN ('remember', 'recognise') AND a.user_id IS NOT NULL
),
wrote AS MATERIALIZED (
    SELECT m.id, m.agent, acts.user_id, m.superseded_by_id, m.invalidated_at
    FROM acts
    JOIN memories m ON m.id = acts.object_id::uuid
    WHERE acts.action = 'remember' AND m.author_kind = 'agent'
),
fates AS (
    SELECT
        wrote.*,
        EXISTS (
            SELECT FROM memories_link l
            WHERE l.source_id = wrote.id AND l.type = 'derived_from' AND l.created_by = %(recognised)s
        ) AS reworded,
        EXISTS (SELECT FROM usage_event e WHERE e.memory_id = wrote.id AND e.useful) AS useful,
        EXISTS (SELECT FROM usage_event e WHERE e.memory_id = wrote.id AND e.misled) AS misled
    FROM wrote
),
counted AS (
    SELECT
        max(agent) AS agent, lower(regexp_replace(agent, %(separators)s, '-', 'g')) AS called, user_id,
        count(*) AS written, 0 AS repeated,
        count(*) FILTER (WHERE reworded) AS reworded,
        count(*) FILTER (WHERE superseded_by_id IS NOT NULL) AS superseded,
        count(*) FILTER (WHERE invalidated_at IS NOT NULL AND superseded_by_id IS NULL) AS forgotten,
        count(*) FILTER (WHERE useful) AS useful,
        count(*) FILTER (WHERE misled) AS misled
    FROM fates
    GROUP BY called, user_id
    UNION ALL
    SELECT
        max(repeater), lower(regexp_replace(repeater, %(separators)s, '-', 'g')) AS called, user_id,
        0, count(*), 0, 0, 0, 0, 0
    FROM acts
    WHERE action = 'recognise'
    GROUP BY called, user_id
)
SELECT
    max(agent), u.username, sum(written)::bigint, sum(repeated)::bigint, sum(reworded)::bigint, sum(superseded)::bigint,
    sum(forgotten)::bigint, sum(useful)::bigint, sum(misled)::bigint
FROM counted
JOIN {users} u ON u.id = counted.user_id
GROUP BY called, u.username
ORDER BY sum(written) + sum(repeated) DESC, called, u.username
LIMIT %(most)s
