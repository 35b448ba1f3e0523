-- Lower the weight of each of these memories to what it is by now, and let nobody wait: whoever is being changed at this
-- moment is passed by, and the next cycle computes the same from the same dates. Weight never rises.
WITH held AS MATERIALIZED (
    SELECT
        id,
        power(2, -least(
            %(most)s, greatest(0, extract(epoch FROM (%(now)s - accessed_at))::float8 / 3600) / %(half_life)s
        )) AS fallen
    FROM memories
    WHERE id = ANY (%(ids)s::uuid[]) AND archived_at IS NULL AND NOT (pinned AND invalidated_at IS NULL)
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE memories
SET weight = held.fallen
FROM held
WHERE memories.id = held.id AND memories.weight > held.fallen
