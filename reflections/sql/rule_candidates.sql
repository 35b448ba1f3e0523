-- Live memories of a scope that enough distinct sessions found useful of late, settled for a while, not doubted, and
-- never proposed as a rule in any wording. An edit is a new row, and what was said of an earlier wording counts.
WITH RECURSIVE wording (live, id) AS (
    SELECT m.id, m.id
    FROM memories m
    WHERE m.scope_id = %(scope)s AND m.invalidated_at IS NULL AND m.kind = ANY (%(kinds)s)
      AND (m.valid_until IS NULL OR m.valid_until > %(now)s)
      AND m.updated_at <= %(settled)s AND m.created_at <= %(settled)s
    UNION
    SELECT wording.live, earlier.id
    FROM wording
    JOIN memories earlier ON earlier.superseded_by_id = wording.id AND earlier.invalidation_reason = %(edited)s
),
found AS (
    SELECT wording.live AS id, count(DISTINCT event.session) AS sessions
    FROM wording
    JOIN usage_event event ON event.memory_id = wording.id
    WHERE event.at >= %(since)s AND event.useful AND event.session <> ''
      AND (event.source = ANY (%(direct)s) OR (event.source = 'judge' AND event.confidence >= %(judge_minimum)s))
    GROUP BY wording.live
    HAVING count(DISTINCT event.session) >= %(sessions)s
)
SELECT found.id, found.sessions
FROM found
WHERE NOT EXISTS (
    SELECT FROM wording JOIN standing_rule rule ON rule.memory_id = wording.id WHERE wording.live = found.id
)
AND NOT EXISTS (
    SELECT FROM dispute
    WHERE found.id IN (dispute.subject_id, dispute.other_id)
      AND dispute.status IN ('pending', 'snoozed') AND dispute.type = ANY (%(doubts)s)
)
ORDER BY found.id
