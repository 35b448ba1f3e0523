-- How often one person's agents asked on each day, in UTC, also on days without a question.
SELECT
    day::date,
    count(a.id) FILTER (WHERE a.outcome = 'hits') AS found,
    count(a.id) FILTER (WHERE a.outcome = 'empty') AS empty,
    count(a.id) FILTER (WHERE a.outcome = 'error') AS failed
FROM generate_series(%(since)s::timestamptz AT TIME ZONE 'UTC', %(now)s::timestamptz AT TIME ZONE 'UTC', interval '1 day') AS day
LEFT JOIN recall_activity a ON a.user_id = %(user)s AND a.sort = 'recall' AND a.at >= %(since)s
    AND (a.at AT TIME ZONE 'UTC')::date = day::date AND (
        %(everywhere)s OR a.scopes && %(scopes)s::bigint[] OR (a.outcome = 'error' AND a.token_id = %(token)s)
    )
GROUP BY day
ORDER BY day
