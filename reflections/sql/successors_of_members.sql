-- What stands today in place of the episodes that were ever in a candidacy: an edit makes a new row of the same episode.
WITH RECURSIVE successors AS (
    SELECT m.superseded_by_id AS id
    FROM reflection_member r
    JOIN memories m ON m.id = r.memory_id
    WHERE m.scope_id = %(scope)s AND m.superseded_by_id IS NOT NULL
    UNION
    SELECT m.superseded_by_id
    FROM successors s
    JOIN memories m ON m.id = s.id
    WHERE m.superseded_by_id IS NOT NULL
)
SELECT id FROM successors
