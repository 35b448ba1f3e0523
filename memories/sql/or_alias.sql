-- Part of recall.sql where the query holds words with aliases: a word is also matched by what is as good.
|| coalesce((
    SELECT string_agg('(' || as_good::text || ')', ' | ')::tsquery
    FROM unnest(%(alias_places)s::bigint[], %(aliases)s::text[]) AS alias(place, text),
    LATERAL (
        SELECT plainto_tsquery('pg_catalog.english', alias.text)
            || phraseto_tsquery('pg_catalog.simple', zm_parts(alias.text))
    ) AS read(as_good)
    WHERE alias.place = word.place AND numnode(as_good) > 0
), to_tsquery('pg_catalog.simple', ''))
