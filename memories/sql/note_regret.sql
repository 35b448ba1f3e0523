-- Count a recall that was compared with the archives of some scopes, and what it would have found there.
WITH sampled AS (
    INSERT INTO archive_sample AS known (scope_id, day, recalls, regretted)
    SELECT scope, %(day)s, 1, regretted
    FROM unnest(%(scopes)s::bigint[], %(regretted)s::integer[]) AS compared(scope, regretted)
    ORDER BY scope
    ON CONFLICT (scope_id, day) DO UPDATE SET recalls = known.recalls + 1, regretted = known.regretted + excluded.regretted
)
INSERT INTO archive_regret AS known (memory_id, count, last_at)
SELECT memory, 1, %(now)s FROM unnest(%(memories)s::uuid[]) AS found(memory) ORDER BY memory
ON CONFLICT (memory_id) DO UPDATE SET count = known.count + 1, last_at = greatest(known.last_at, excluded.last_at)
