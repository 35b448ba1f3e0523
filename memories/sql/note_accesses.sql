-- Count an access of each memory, once, and say when. Not through save(): being read is no change by anybody, so
-- updated_at and version stay. Whoever holds a row passes it by, since nobody who reads may wait for a count; the order
-- keeps two of these statements from waiting for each other crosswise. The count may be lost in a crash, so the commit
-- does not wait for the disk. An imported count may stand at the column's end, where it stays.
WITH in_no_hurry AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true)
),
free AS MATERIALIZED (
    SELECT m.id
    FROM memories m, in_no_hurry
    WHERE m.id = ANY (%(returned)s::uuid[])
    ORDER BY m.id
    FOR NO KEY UPDATE OF m SKIP LOCKED
)
UPDATE memories
SET access_count = least(access_count, 2147483646) + 1, accessed_at = statement_timestamp()
FROM free
WHERE memories.id = free.id
