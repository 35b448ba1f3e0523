-- The token with this secret if it is in force, whose it is, and that person's role in each scope the token reaches.
SELECT
    token.*, owner.username, coalesce(allowed.resource, '') AS resource,
    (
        SELECT coalesce(json_object_agg(scope.id, CASE WHEN scope.owner_id = owner.id THEN 'admin' ELSE member.role END), '{}')
        FROM memories_token_scopes reached
        JOIN memories_scope scope ON scope.id = reached.scope_id
        LEFT JOIN memories_membership member ON member.scope_id = scope.id AND member.user_id = owner.id
        WHERE reached.token_id = token.id AND (scope.owner_id = owner.id OR member.role IS NOT NULL)
    )::text AS roles
FROM memories_token token
JOIN memories_user owner ON owner.id = token.user_id
LEFT JOIN memories_oauthgrant allowed ON allowed.token_id = token.id
WHERE token.secret_sha256 = %(digest)s AND token.revoked_at IS NULL AND owner.is_active
  AND (token.expires_at IS NULL OR token.expires_at > %(now)s)
