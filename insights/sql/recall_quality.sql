-- One row: what agents were given of some scopes in a period, what became of it, and what one person's agents asked there.
-- The placeholder takes the query of the reports that stand, so that "stands" is defined in one place.
-- A memory counts as useful or misleading only among those given in the period, so that no share passes 1.
WITH surfaced AS MATERIALIZED (
    SELECT s.memory_id, sum(s.count) AS times
    FROM memory_surfacing s
    JOIN memories m ON m.id = s.memory_id
    WHERE s.day >= %s AND m.scope_id = ANY (%s::bigint[])
    GROUP BY s.memory_id
),
said AS MATERIALIZED (
    {reports}
),
asked AS MATERIALIZED (
    SELECT *
    FROM recall_activity
    WHERE user_id = %s AND sort = 'recall' AND at >= %s AND (%s OR scopes && %s::bigint[])
),
given AS MATERIALIZED (
    SELECT one.age, one.reinforced
    FROM asked, unnest(asked.memories, asked.ages, asked.reinforced) AS one(memory_id, age, reinforced)
    JOIN memories m ON m.id = one.memory_id AND m.scope_id = ANY (%s::bigint[])
)
SELECT
    (SELECT count(*) FROM surfaced) AS surfaced,
    (SELECT coalesce(sum(times), 0)::bigint FROM surfaced) AS times,
    (SELECT count(DISTINCT memory_id) FROM said JOIN surfaced USING (memory_id) WHERE useful) AS useful,
    (SELECT count(DISTINCT memory_id) FROM said JOIN surfaced USING (memory_id) WHERE misled) AS misled,
    (SELECT count(*) FROM said) AS reports,
    (SELECT count(*) FROM said WHERE relevant IS NOT NULL) AS judged,
    (SELECT count(*) FROM said WHERE relevant) AS relevant,
    (SELECT count(*) FROM asked WHERE outcome <> 'error') AS recalls,
    (SELECT count(*) FROM asked WHERE outcome = 'empty') AS empty,
    (SELECT count(*) FROM asked WHERE outcome = 'error') AS failed,
    (SELECT count(*) FROM given) AS given,
    (SELECT count(*) FROM given WHERE reinforced) AS reinforced,
    (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM given) AS median_age_days
