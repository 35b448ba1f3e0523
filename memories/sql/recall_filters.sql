-- What a memory must be to be found at all, in every leg of recall; a filter that is null does not filter.
m.scope_id = ANY (%(scopes)s::bigint[]) AND {valid}
AND (%(kinds)s::text[] IS NULL OR m.kind = ANY (%(kinds)s::text[]))
AND (%(pinned)s::boolean IS NULL OR m.pinned = %(pinned)s::boolean)
AND (%(author_kind)s::text IS NULL OR m.author_kind = %(author_kind)s::text)
AND (%(created_from)s::timestamptz IS NULL OR m.created_at >= %(created_from)s::timestamptz)
AND (%(created_to)s::timestamptz IS NULL OR m.created_at < %(created_to)s::timestamptz)
AND (%(entity)s::text IS NULL OR EXISTS (
    SELECT FROM memories_memoryentity tie JOIN memories_entity entity ON entity.id = tie.entity_id
    WHERE tie.memory_id = m.id AND entity.canonical = %(entity)s::text
))
