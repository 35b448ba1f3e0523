-- Part of recall.sql where the query holds words with aliases: a word is as common as all that match it.
+ coalesce((
    SELECT sum(least_share)
    FROM (
        SELECT min(coalesce(known.share, 0)) AS least_share
        FROM unnest(%(alias_places)s::bigint[], %(aliases)s::text[]) AS alias(place, text),
        unnest(tsvector_to_array(to_tsvector('pg_catalog.simple', zm_parts(alias.text)))) AS lexeme
        LEFT JOIN known USING (lexeme)
        WHERE alias.place = told.place
        GROUP BY alias.text
    ) AS each
), 0)
