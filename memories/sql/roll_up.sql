-- What the signals of the window amount to, for every memory of a scope or of all: the sums and the rules of
-- memories/reinforcement.py, in one statement. Written is what differs, removed what is neutral again.
--
-- It waits for nobody and keeps nobody waiting while it reads: rows that another transaction is writing are passed by,
-- and so are those written since it began to read, because their numbers are newer. The next roll-up sees to them.
WITH RECURSIVE recent AS NOT MATERIALIZED (
    SELECT e.id, e.memory_id, e.at, e.source, e.session, e.confidence, 2 * e.misled::int + e.useful::int AS verdict
    FROM usage_event e
    WHERE e.at >= %(since)s
        AND (%(scope)s::bigint IS NULL
            OR e.memory_id IN (SELECT m.id FROM memories m WHERE m.scope_id = %(scope)s::bigint))
),
-- What was said of an earlier wording counts for each later one.
carried (origin, target) AS (
    SELECT memory_id, memory_id FROM (SELECT DISTINCT memory_id FROM recent) told
    UNION
    SELECT c.origin, m.superseded_by_id
    FROM carried c
    JOIN memories m ON m.id = c.target
    WHERE m.superseded_by_id IS NOT NULL AND m.invalidation_reason = %(edited)s
),
{voices}
sums AS MATERIALIZED (
    SELECT
        target,
        coalesce(sum(weight) FILTER (WHERE verdict = 1), 0) AS useful,
        coalesce(sum(weight) FILTER (WHERE verdict = 2), 0) AS misled
    FROM spoken
    GROUP BY target
),
stored AS (
    SELECT r.memory_id, r.multiplier, r.useful, r.misled, r.promoted, r.computed_at
    FROM memory_reinforcement r
    WHERE %(scope)s::bigint IS NULL
        OR r.memory_id IN (SELECT m.id FROM memories m WHERE m.scope_id = %(scope)s::bigint)
),
compared AS (
    SELECT
        coalesce(sums.target, stored.memory_id) AS memory_id,
        coalesce(sums.useful, 0) AS useful,
        coalesce(sums.misled, 0) AS misled,
        CASE
            WHEN stored.promoted THEN %(promoted)s
            ELSE greatest(
                %(floor)s,
                least(%(boost_limit)s, 1 + %(boost)s * ln(1 + coalesce(sums.useful, 0)))
                    - %(penalty)s * ln(1 + coalesce(sums.misled, 0))
            )
        END AS multiplier,
        coalesce(stored.promoted, false) AS promoted,
        stored.computed_at AS seen_at,
        stored.multiplier AS multiplier_before,
        stored.useful AS useful_before,
        stored.misled AS misled_before
    FROM sums
    FULL JOIN stored ON stored.memory_id = sums.target
),
-- Sums of the same numbers in another order differ in their last digits.
changed AS MATERIALIZED (
    SELECT memory_id, useful, misled, multiplier, seen_at, is_neutral
    FROM compared, LATERAL (
        SELECT useful = 0 AND misled = 0 AND multiplier = 1 AND NOT promoted AS is_neutral
    ) judged
    WHERE seen_at IS NULL
        OR is_neutral
        OR greatest(
            abs(useful - useful_before), abs(misled - misled_before), abs(multiplier - multiplier_before)
        ) > 1e-9
),
held AS MATERIALIZED (
    SELECT r.memory_id
    FROM memory_reinforcement r
    JOIN changed c ON c.memory_id = r.memory_id AND c.seen_at = r.computed_at
    ORDER BY r.memory_id
    FOR UPDATE OF r SKIP LOCKED
),
-- Held, so that none of them is erased before the commit.
unrated AS MATERIALIZED (
    SELECT m.id
    FROM memories m
    JOIN changed c ON c.memory_id = m.id AND c.seen_at IS NULL AND NOT c.is_neutral
    ORDER BY m.id
    FOR KEY SHARE OF m SKIP LOCKED
),
removed AS (
    DELETE FROM memory_reinforcement r
    USING held JOIN changed c USING (memory_id)
    WHERE r.memory_id = held.memory_id AND c.is_neutral
    RETURNING r.memory_id
),
rewritten AS (
    UPDATE memory_reinforcement r
    SET multiplier = c.multiplier, useful = c.useful, misled = c.misled, computed_at = statement_timestamp()
    FROM held JOIN changed c USING (memory_id)
    WHERE r.memory_id = held.memory_id AND NOT c.is_neutral
    RETURNING r.memory_id
),
added AS (
    INSERT INTO memory_reinforcement (memory_id, multiplier, useful, misled, promoted, computed_at)
    SELECT c.memory_id, c.multiplier, c.useful, c.misled, false, statement_timestamp()
    FROM changed c
    JOIN unrated ON unrated.id = c.memory_id
    ORDER BY c.memory_id
    ON CONFLICT (memory_id) DO NOTHING
    RETURNING memory_id
)
SELECT
    (SELECT count(*) FROM sums),
    (SELECT count(*) FROM added) + (SELECT count(*) FROM rewritten),
    (SELECT count(*) FROM removed)
