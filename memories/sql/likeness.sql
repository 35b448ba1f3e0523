-- How near each of some memories comes to one: the greatest cosine of any two of their windows.
SELECT theirs.memory_id, max(1 - (ours.vector <=> theirs.vector)) AS cosine
FROM memory_embedding ours
JOIN memory_embedding theirs
    ON theirs.model = ours.model AND theirs.model_version = ours.model_version AND theirs.dimensions = ours.dimensions
WHERE ours.memory_id = %(memory)s AND theirs.memory_id = ANY (%(others)s::uuid[]) AND theirs.memory_id <> ours.memory_id
GROUP BY theirs.memory_id
HAVING max(1 - (ours.vector <=> theirs.vector)) >= %(cosine)s
ORDER BY cosine DESC, theirs.memory_id
LIMIT %(most)s
