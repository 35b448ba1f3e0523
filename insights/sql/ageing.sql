-- One row for the whole corpus and one per kind, scope and age bucket, all counted in one pass over one snapshot.
-- Its placeholder takes the query of live, visible memories, so that "live" is defined in one place.
SELECT
    CASE GROUPING(kind, scope_id, bucket)
        WHEN 7 THEN 'all' WHEN 3 THEN 'kind' WHEN 5 THEN 'scope' WHEN 6 THEN 'bucket'
    END AS level,
    COALESCE(kind, scope_id::text, bucket) AS name,
    count(*) AS live,
    count(*) FILTER (WHERE can_fade) AS can_fade,
    count(*) FILTER (WHERE faded) AS faded,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY age_days) AS median_age_days,
    min(created_at) AS oldest_at,
    max(created_at) AS newest_at
FROM ({corpus}) AS corpus
GROUP BY GROUPING SETS ((), (kind), (scope_id), (bucket))
