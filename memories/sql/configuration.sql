-- All that a recall needs to know before it searches: the configuration, which embedder answers, and the first and the
-- last of the stamps that live memories bear; and of the scopes that are read, the policies of those that decay, their archives and
-- the aliases that the query holds. As text: the
-- driver would otherwise read it with a parser of its own choice.
SELECT
    (SELECT json_agg(row_to_json(r))::text FROM ranking_config r),
    (SELECT row_to_json(f)::text FROM fusion_config f),
    (SELECT row_to_json(w)::text FROM fusion_weights w),
    (SELECT row_to_json(k)::text FROM code_config k),
    (SELECT row_to_json(c)::text FROM embedder_change c ORDER BY id DESC LIMIT 1),
    (SELECT min(embedded_with) FROM memories WHERE invalidated_at IS NULL),
    (SELECT max(embedded_with) FROM memories WHERE invalidated_at IS NULL),
    EXISTS (SELECT FROM memory_anchor WHERE retired_at IS NULL),
    (
        SELECT json_object_agg(s.id, row_to_json(p))::text
        FROM memories_scope s
        LEFT JOIN retention_policy p ON p.scope_id = s.id
        WHERE s.id = ANY (%(scopes)s::bigint[]) AND s.retention = 'decaying'
    ),
    (
        SELECT array_agg(s.id)
        FROM memories_scope s
        WHERE s.id = ANY (%(scopes)s::bigint[]) AND s.retention = 'decaying'
          AND EXISTS (SELECT FROM memories m WHERE m.scope_id = s.id AND m.archived_at IS NOT NULL)
    ),
    (
        SELECT json_agg(json_build_array(a.term, a.alias) ORDER BY a.id)::text
        FROM vocabulary_alias a
        WHERE a.scope_id = ANY (%(scopes)s::bigint[]) AND a.retired_at IS NULL
          AND (strpos(%(query)s::text, lower(a.term)) > 0 OR strpos(%(query)s::text, lower(a.alias)) > 0)
    )
