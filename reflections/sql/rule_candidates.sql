-- Everything said of late of the live memories of a scope that may be proposed as rules: those that several sessions
-- called useful, settled for a while, not doubted, and never proposed in any wording. An edit is a new row, and what was
-- said of an earlier wording counts. Which voice each session has is seen afterwards. Starts from the useful reports of
-- the window, and grows with them.
WITH RECURSIVE praised AS MATERIALIZED (
    SELECT DISTINCT event.memory_id
    FROM usage_event event
    JOIN memories m ON m.id = event.memory_id
    WHERE m.scope_id = %(scope)s AND event.useful AND event.session <> '' AND event.at >= %(since)s
),
later AS (
    SELECT memory_id AS id FROM praised
    UNION
    SELECT m.superseded_by_id
    FROM later
    JOIN memories m ON m.id = later.id
    WHERE m.invalidation_reason = %(edited)s AND m.superseded_by_id IS NOT NULL
),
wording (live, id) AS (
    SELECT m.id, m.id
    FROM later
    JOIN memories m ON m.id = later.id
    WHERE m.scope_id = %(scope)s AND m.invalidated_at IS NULL AND m.kind = ANY (%(kinds)s)
      AND (m.valid_until IS NULL OR m.valid_until > %(now)s)
      AND m.updated_at <= %(settled)s AND m.created_at <= %(settled)s
    UNION
    SELECT wording.live, earlier.id
    FROM wording
    JOIN memories earlier ON earlier.superseded_by_id = wording.id AND earlier.invalidation_reason = %(edited)s
),
said AS MATERIALIZED (
    SELECT wording.live, event.at, event.source, event.useful, event.misled, event.confidence, event.session
    FROM wording
    JOIN usage_event event ON event.memory_id = wording.id
    WHERE event.at >= %(since)s
),
called_useful AS (
    SELECT live FROM said WHERE useful AND session <> '' GROUP BY live HAVING count(DISTINCT session) >= %(sessions)s
)
SELECT said.*
FROM called_useful
JOIN said USING (live)
WHERE NOT EXISTS (
    SELECT FROM wording JOIN standing_rule rule ON rule.memory_id = wording.id WHERE wording.live = called_useful.live
)
AND NOT EXISTS (
    SELECT FROM dispute
    WHERE called_useful.live IN (dispute.subject_id, dispute.other_id)
      AND dispute.status IN ('pending', 'snoozed') AND dispute.type = ANY (%(doubts)s)
)
ORDER BY said.live, said.at
