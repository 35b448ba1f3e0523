-- What each session says of a memory with its one voice, by the rules of memories/reinforcement.py: verdict 2 is misled, 1
-- useful, 0 neither. For statements that name the signals "recent" and the memories that they speak of "carried".
withdrawn AS MATERIALIZED (
    SELECT c.target, r.at
    FROM recent r
    JOIN carried c ON c.origin = r.memory_id
    WHERE r.source IN ('withdrawn', 'reinstated')
    GROUP BY c.target, r.at
    HAVING sum(CASE r.source WHEN 'withdrawn' THEN 1 ELSE -1 END) > 0
),
-- The voices of each session; without a session each signal is one of its own. The latest report is the greatest
-- number of microseconds, with the verdict in its last digit to base 4.
voices AS (
    SELECT
        c.target,
        max(s.verdict) FILTER (WHERE s.source = 'challenge' AND s.verdict > 0) AS challenged,
        max((extract(epoch FROM s.at) * 1000000)::bigint * 4 + s.verdict) FILTER (WHERE s.source = 'direct') %% 4
            AS reported,
        max(s.verdict) FILTER (WHERE s.source = 'link' AND s.verdict > 0) AS linked,
        max(s.confidence) FILTER (
            WHERE s.source = 'judge' AND s.verdict = 2 AND s.confidence >= %(judge_minimum)s
        ) AS judged_misled,
        max(s.confidence) FILTER (
            WHERE s.source = 'judge' AND s.verdict = 1 AND s.confidence >= %(judge_minimum)s
        ) AS judged_useful
    FROM recent s
    JOIN carried c ON c.origin = s.memory_id
    LEFT JOIN withdrawn w ON (s.verdict = 2 OR s.source = 'challenge') AND w.target = c.target AND w.at = s.at
    WHERE w.target IS NULL
    GROUP BY c.target, s.session COLLATE "C", CASE WHEN s.session = '' THEN s.id END
),
spoken AS (
    SELECT
        target,
        coalesce(
            challenged, reported, linked,
            CASE WHEN judged_misled IS NOT NULL THEN 2 WHEN judged_useful IS NOT NULL THEN 1 END
        ) AS verdict,
        CASE
            WHEN coalesce(challenged, reported, linked) IS NULL THEN coalesce(judged_misled, judged_useful)
            ELSE 1
        END AS weight
    FROM voices
),
