-- One row: what agents were given of some scopes in a period, what became of it, and what one person's agents asked there.
-- The placeholder takes the voices of sessions, so that what counts is defined in one place; each wording has its own.
-- A memory counts as useful or misleading only among those given in the period, so that no share passes 1.
WITH recent AS MATERIALIZED (
    SELECT e.id, e.memory_id, e.at, e.source, e.session, e.confidence, e.relevant,
        2 * e.misled::int + e.useful::int AS verdict
    FROM usage_event e
    JOIN memories m ON m.id = e.memory_id
    WHERE e.at >= %(since)s AND m.scope_id = ANY (%(scopes)s::bigint[])
),
carried (origin, target) AS (
    SELECT DISTINCT memory_id, memory_id FROM recent
),
{voices}
surfaced AS MATERIALIZED (
    SELECT s.memory_id, sum(s.count) AS times
    FROM memory_surfacing s
    JOIN memories m ON m.id = s.memory_id
    WHERE s.day >= %(first_day)s AND m.scope_id = ANY (%(scopes)s::bigint[])
    GROUP BY s.memory_id
),
heard AS MATERIALIZED (
    SELECT spoken.target AS memory_id, spoken.verdict FROM spoken JOIN surfaced ON surfaced.memory_id = spoken.target
),
said AS MATERIALIZED (
    SELECT s.relevant
    FROM recent s
    LEFT JOIN withdrawn w ON (s.verdict = 2 OR s.source = 'challenge') AND w.target = s.memory_id AND w.at = s.at
    WHERE s.source NOT IN ('withdrawn', 'reinstated')
        AND w.target IS NULL
        AND NOT (s.source = 'judge' AND s.confidence < %(judge_minimum)s)
),
asked AS MATERIALIZED (
    SELECT *
    FROM recall_activity
    WHERE user_id = %(user)s AND sort = 'recall' AND at >= %(log_since)s
        -- What failed searched nowhere; a token knows its own failures.
        AND (%(everywhere)s OR scopes && %(scopes)s::bigint[] OR (outcome = 'error' AND token_id = %(token)s))
),
given AS MATERIALIZED (
    SELECT one.age, one.reinforced
    FROM asked, unnest(asked.memories, asked.ages, asked.reinforced) AS one(memory_id, age, reinforced)
    JOIN memories m ON m.id = one.memory_id AND m.scope_id = ANY (%(scopes)s::bigint[])
)
SELECT
    (SELECT count(*) FROM surfaced) AS surfaced,
    (SELECT coalesce(sum(times), 0)::bigint FROM surfaced) AS times,
    (SELECT count(DISTINCT memory_id) FROM heard WHERE verdict = 1) AS useful,
    (SELECT count(DISTINCT memory_id) FROM heard WHERE verdict = 2) AS misled,
    (SELECT count(*) FROM said) AS reports,
    (SELECT count(*) FROM said WHERE relevant IS NOT NULL) AS judged,
    (SELECT count(*) FROM said WHERE relevant) AS relevant,
    (SELECT count(*) FROM asked WHERE outcome <> 'error') AS recalls,
    (SELECT count(*) FROM asked WHERE outcome = 'empty') AS empty,
    (SELECT count(*) FROM asked WHERE outcome = 'error') AS failed,
    (SELECT count(*) FROM given) AS given,
    (SELECT count(*) FROM given WHERE reinforced) AS reinforced,
    (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM given) AS median_age_days
