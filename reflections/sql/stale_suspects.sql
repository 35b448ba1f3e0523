-- The live memories of one scope that misled in so many sessions since the last decision about them, with those reports.
-- An edit carries the reports on, so a memory answers for all its wordings. A judge below its minimum counts nothing,
-- and nothing where the session spoke for itself; a challenge counts unless it is withdrawn.
-- Starts from the reports of the window, and grows with them.
WITH RECURSIVE report AS MATERIALIZED (
    SELECT e.memory_id, e.at, e.source, e.session, e.user_id, e.confidence
    FROM usage_event e
    JOIN memories m ON m.id = e.memory_id
    WHERE m.scope_id = %(scope)s AND e.misled AND e.at >= %(since)s
      AND (e.source <> 'judge' OR e.confidence >= %(judge_minimum)s)
),
later AS (
    SELECT DISTINCT memory_id AS id FROM report
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
    WHERE d.other_id IS NULL AND d.status IN ('resolved', 'dismissed') AND d.resolution <> 'swept'
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
    SELECT e.memory_id, e.at
    FROM wording
    JOIN usage_event e ON e.memory_id = wording.id
    WHERE e.source IN ('withdrawn', 'reinstated') AND e.at >= %(since)s
    GROUP BY e.memory_id, e.at
    HAVING sum(CASE e.source WHEN 'withdrawn' THEN 1 ELSE -1 END) > 0
),
told AS (
    SELECT DISTINCT wording.subject, e.session
    FROM wording
    JOIN usage_event e ON e.memory_id = wording.id
    WHERE e.session <> '' AND e.at >= %(since)s AND e.source NOT IN ('judge', 'withdrawn', 'reinstated')
),
voiced AS (
    SELECT
        wording.subject, report.at, report.source, report.session, report.user_id, report.confidence,
        coalesce(nullif(report.session, ''), 'alone ' || row_number() OVER ()) AS voice
    FROM wording
    JOIN report ON report.memory_id = wording.id
    LEFT JOIN decided ON decided.subject = wording.subject
    LEFT JOIN withdrawn ON withdrawn.memory_id = report.memory_id AND withdrawn.at = report.at
    LEFT JOIN told ON told.subject = wording.subject AND told.session = report.session
    WHERE (decided.at IS NULL OR report.at > decided.at)
      AND NOT (report.source = 'challenge' AND withdrawn.at IS NOT NULL)
      AND NOT (report.source = 'judge' AND told.session IS NOT NULL)
),
counted AS (
    SELECT DISTINCT ON (subject, voice) *
    FROM voiced
    ORDER BY subject, voice, source = 'judge', confidence DESC, at DESC
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
        ORDER BY counted.at
    ) AS reports
FROM counted
JOIN chain ON chain.subject = counted.subject
LEFT JOIN waiting ON waiting.subject = counted.subject
LEFT JOIN memories_user u ON u.id = counted.user_id
WHERE waiting.subject IS NULL OR waiting.is_one_challenge
GROUP BY counted.subject, chain.wordings
HAVING count(*) >= %(reports)s
ORDER BY counted.subject
