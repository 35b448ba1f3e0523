-- Whether somebody holds the lock of a name, without taking it: a look must not make a cycle that begins now pass by.
SELECT EXISTS (
    SELECT
    FROM pg_locks, hashtextextended(%(name)s, 0) AS key
    WHERE
        locktype = 'advisory' AND objsubid = 1 AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid::bigint = (key >> 32) & 4294967295 AND objid::bigint = key & 4294967295
)
