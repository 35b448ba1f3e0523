-- Every version of one memory: up to the row that stands at the end, then down to all it ever replaced.
-- UNION drops rows met before, so that even a damaged chain ends.
WITH RECURSIVE up AS (
    SELECT id, superseded_by_id FROM memories WHERE id = %(memory)s
    UNION
    SELECT m.id, m.superseded_by_id FROM memories m JOIN up ON m.id = up.superseded_by_id
),
down AS (
    SELECT id FROM up WHERE superseded_by_id IS NULL
    UNION
    SELECT m.id FROM memories m JOIN down ON m.superseded_by_id = down.id
)
SELECT id FROM down LIMIT 500
