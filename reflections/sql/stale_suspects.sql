-- The live memories of one scope that misled in so many sessions since the last decision about them, with those reports.
-- An edit carries the reports on, so a memory answers for all its wordings. A judge below its minimum counts nothing, nor
-- does a report that is withdrawn. Starts from the misleading reports of the window, and grows with them.
WITH RECURSIVE report AS MATERIALIZED (
    SELECT DISTINCT e.memory_id
    FROM usage_event e
    JOIN memories m ON m.id = e.memory_id
    WHERE m.scope_id = %(scope)s AND e.misled AND e.at >= %(since)s
      AND (e.source <> 'judge' OR e.confidence >= %(judge_minimum)s)
),
later AS (
    SELECT memory_id AS id FROM report
    UNION
    SELECT m.superseded_by_id
    FROM later
    JOIN memories m ON m.id = later.id
    WHERE m.invalidation_reason = %(edited)s AND m.superseded_by_id IS NOT NULL
),
wording AS (
    SELECT m.id AS subject, m.id
    FROM later
    JOIN memories m ON m.id = later.id
    WHERE m.invalidated_at IS NULL AND (m.valid_until IS NULL OR m.valid_until > %(now)s)
    UNION
    SELECT wording.subject, m.id
    FROM wording
    JOIN memories m ON m.superseded_by_id = wording.id
    WHERE m.invalidation_reason = %(edited)s
),
decided AS (
    SELECT wording.subject, max(d.decided_at) AS at
    FROM wording
    JOIN dispute d ON d.subject_id = wording.id
    WHERE d.other_id IS NULL AND d.status IN ('resolved', 'dismissed') AND d.resolution NOT IN ('swept', 'passed')
    GROUP BY wording.subject
),
waiting AS (
    SELECT wording.subject, bool_and(d.type = 'challenged' AND d.status = 'pending') AS is_one_challenge
    FROM wording
    JOIN dispute d ON d.subject_id = wording.subject
    WHERE wording.id = wording.subject AND d.other_id IS NULL AND d.status IN ('pending', 'snoozed')
    GROUP BY wording.subject
),
withdrawn AS (
    SELECT wording.subject, e.at
    FROM wording
    JOIN usage_event e ON e.memory_id = wording.id
    WHERE e.source IN ('withdrawn', 'reinstated') AND e.at >= %(since)s
    GROUP BY wording.subject, e.at
    HAVING sum(CASE e.source WHEN 'withdrawn' THEN 1 ELSE -1 END) > 0
),
-- A session speaks with one voice, as in memories/reinforcement.py, of what was said since the decision; without a
-- session each signal is one of its own.
heard AS (
    SELECT DISTINCT ON (wording.subject, voice.name)
        wording.subject, e.id, e.at, e.source, e.session, e.user_id, e.confidence, e.misled
    FROM wording
    JOIN usage_event e ON e.memory_id = wording.id AND e.at >= %(since)s
    LEFT JOIN withdrawn ON withdrawn.subject = wording.subject AND withdrawn.at = e.at
    LEFT JOIN decided ON decided.subject = wording.subject
    CROSS JOIN LATERAL (
        SELECT
            coalesce('of ' || nullif(e.session, ''), e.id::text) AS name,
            array_position(ARRAY['judge', 'link', 'direct', 'challenge'], e.source::text) AS weight
    ) AS voice
    WHERE (decided.at IS NULL OR e.at > decided.at)
      AND e.source NOT IN ('withdrawn', 'reinstated')
      AND (e.useful OR e.misled OR e.source = 'direct')
      AND NOT ((e.misled OR e.source = 'challenge') AND withdrawn.at IS NOT NULL)
      AND NOT (e.source = 'judge' AND e.confidence < %(judge_minimum)s)
    ORDER BY
        wording.subject, voice.name, voice.weight DESC, CASE WHEN e.source <> 'judge' THEN e.at END DESC,
        e.misled DESC, e.confidence DESC, e.at
),
counted AS (
    SELECT * FROM heard WHERE misled
),
chain AS (
    SELECT subject, array_agg(id) AS wordings FROM wording GROUP BY subject
)
SELECT
    counted.subject,
    chain.wordings,
    jsonb_agg(
        jsonb_build_object(
            'at', counted.at, 'source', counted.source, 'by', coalesce(u.username, ''),
            'session', counted.session, 'confidence', counted.confidence
        )
        ORDER BY counted.at, counted.id
    ) AS reports
FROM counted
JOIN chain ON chain.subject = counted.subject
LEFT JOIN waiting ON waiting.subject = counted.subject
LEFT JOIN memories_user u ON u.id = counted.user_id
WHERE waiting.subject IS NULL OR waiting.is_one_challenge
GROUP BY counted.subject, chain.wordings
HAVING count(*) >= %(reports)s
ORDER BY counted.subject
