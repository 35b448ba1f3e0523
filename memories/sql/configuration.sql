-- All configuration that a recall needs. As text: the driver would otherwise read it with a parser of its own choice.
SELECT
    (SELECT json_agg(row_to_json(r))::text FROM ranking_config r),
    (SELECT row_to_json(f)::text FROM fusion_config f),
    (SELECT row_to_json(w)::text FROM fusion_weights w)
