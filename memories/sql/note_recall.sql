-- Count an access of each memory, once, and say when; and count it for the day, in UTC. Not through save(): being read
-- is no change by anybody, so updated_at and version stay. Whoever holds a row passes it by, since nobody who reads may
-- wait for a count; the order keeps two of these statements from waiting for each other crosswise, and no other
-- statement writes the counts of this day. The count may be lost in a crash, so the commit does not wait for the disk.
-- An imported count may stand at the column's end, where it stays. The log of what was asked is written along with it,
-- for one round trip, also of a recall that gave nothing.
WITH in_no_hurry AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true)
),
free AS MATERIALIZED (
    SELECT m.id
    FROM memories m, in_no_hurry
    WHERE m.id = ANY (%(returned)s::uuid[])
    ORDER BY m.id
    FOR NO KEY UPDATE OF m SKIP LOCKED
),
counted AS (
    UPDATE memories
    SET access_count = least(access_count, 2147483646) + 1, accessed_at = statement_timestamp()
    FROM free
    WHERE memories.id = free.id
),
logged AS (
    INSERT INTO recall_activity (
        id, at, sort, user_id, token_id, agent, session, query, scopes, k, outcome, error, words_only, took_ms,
        memories, ages, reinforced
    )
    SELECT
        %(id)s, statement_timestamp(), %(sort)s, %(user)s, %(token)s, %(agent)s, %(session)s, %(query)s,
        %(scopes)s::bigint[], %(k)s, %(outcome)s, %(error)s, %(words_only)s, %(took_ms)s,
        %(returned)s::uuid[], %(ages)s::float8[], %(reinforced)s::boolean[]
    FROM in_no_hurry
)
INSERT INTO memory_surfacing AS known (memory_id, day, count)
SELECT id, (statement_timestamp() AT TIME ZONE 'UTC')::date, 1 FROM free
ON CONFLICT (memory_id, day) DO UPDATE SET count = least(known.count, 2147483646) + 1
