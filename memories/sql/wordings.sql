-- A memory and what it was edited from. UNION ends a chain that an import closed to a circle.
WITH RECURSIVE wording (id) AS (
    SELECT %(memory)s::uuid
    UNION
    SELECT m.id
    FROM wording w
    JOIN memories m ON m.superseded_by_id = w.id
    WHERE m.invalidation_reason = %(edited)s
)
SELECT id FROM wording
