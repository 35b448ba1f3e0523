-- Which model each memory was embedded by; of several, the latest.
UPDATE memories SET embedded_with = latest.model || ' ' || latest.model_version
FROM (
    SELECT DISTINCT ON (memory_id) memory_id, model, model_version
    FROM memory_embedding
    ORDER BY memory_id, created_at DESC, id DESC
) AS latest
WHERE latest.memory_id = memories.id AND memories.embedded_at IS NOT NULL
