-- Each seed, what it was edited from or into, and what each of these was edited into in turn, the nearest first. CYCLE
-- ends a chain that an import closed to a circle.
WITH RECURSIVE wording (seed, id) AS (
    SELECT seed, seed FROM unnest(%(seeds)s::uuid[]) AS seed
    UNION ALL
    SELECT w.seed, next.id
    FROM wording w
    CROSS JOIN LATERAL (
        SELECT m.id
        FROM memories m
        WHERE %(earlier)s AND m.superseded_by_id = w.id AND m.invalidation_reason = %(edited)s
        UNION ALL
        SELECT m.superseded_by_id
        FROM memories m
        WHERE %(later)s AND m.id = w.id AND m.superseded_by_id IS NOT NULL AND m.invalidation_reason = %(edited)s
    ) AS next
) CYCLE id SET is_circle USING path
SELECT w.seed, w.id, coalesce(m.superseded_by_id IS NOT NULL AND m.invalidation_reason = %(edited)s, false)
FROM wording w
LEFT JOIN memories m ON m.id = w.id
WHERE NOT w.is_circle
ORDER BY cardinality(w.path)
