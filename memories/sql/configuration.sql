-- All that a recall needs to know before it searches: the configuration, which embedder answers, and the first and the
-- last of the stamps that live memories bear. As text: the driver would otherwise read it with a parser of its own choice.
SELECT
    (SELECT json_agg(row_to_json(r))::text FROM ranking_config r),
    (SELECT row_to_json(f)::text FROM fusion_config f),
    (SELECT row_to_json(w)::text FROM fusion_weights w),
    (SELECT row_to_json(k)::text FROM code_config k),
    (SELECT row_to_json(c)::text FROM embedder_change c ORDER BY id DESC LIMIT 1),
    (SELECT min(embedded_with) FROM memories WHERE invalidated_at IS NULL),
    (SELECT max(embedded_with) FROM memories WHERE invalidated_at IS NULL),
    EXISTS (SELECT FROM memory_anchor WHERE retired_at IS NULL)
