-- One round trip of recall: the candidates of each search leg with all that ranking needs.
-- The parts in braces are put in by memories/candidates.py and never hold what a caller typed: what counts as live, now or
-- at a moment; the filters that are asked for; numbers that the planner has to know. The vector is named with its type
-- each time: as text it would be read anew for each row.
WITH given AS MATERIALIZED (
    SELECT place, identifier, english, lexemes, CASE
        WHEN identifier AND numnode(parts) > 0 THEN parts
        ELSE english || parts
    END {or_alias} AS query
    FROM unnest(%(words)s::text[], %(identifiers)s::boolean[]) WITH ORDINALITY AS word(text, identifier, place),
    LATERAL (
        SELECT
            plainto_tsquery('pg_catalog.english', text), phraseto_tsquery('pg_catalog.simple', zm_parts(text)),
            tsvector_to_array(to_tsvector('pg_catalog.simple', zm_parts(text)))
    ) AS parsed(english, parts, lexemes)
),
-- How common a lexeme is, as the planner's statistics have it; what they do not list is rare.
known AS MATERIALIZED (
    SELECT lexeme, share
    FROM pg_stats,
    LATERAL unnest(most_common_elems::text::text[], most_common_elem_freqs) AS common(lexeme, share)
    WHERE schemaname = current_schema() AND tablename = 'memory_window' AND attname = 'document'
),
size AS MATERIALIZED (
    SELECT greatest(reltuples, 0) AS windows FROM pg_class WHERE oid = to_regclass('memory_window')
),
-- A word without an English stem is a stop word. Stop words count only in a query that has nothing else.
kept AS MATERIALIZED (
    SELECT
        row_number() OVER (ORDER BY identifier DESC, place) - 1 AS bit, place, identifier, english, query,
        coalesce(share, 0) {or_alias_share} AS share
    FROM (SELECT *, bool_and(numnode(english) = 0) OVER () AS only_stop_words FROM given WHERE numnode(query) > 0) AS told
    LEFT JOIN (
        SELECT place, min(coalesce(known.share, 0)) AS share
        FROM given, unnest(lexemes) AS lexeme
        LEFT JOIN known USING (lexeme)
        GROUP BY place
    ) AS rarest USING (place)
    WHERE only_stop_words OR numnode(english) > 0 OR identifier
    ORDER BY identifier DESC, place
    LIMIT 63
),
-- Only the rarest words choose candidates, as many as the budget of windows allows. The common ones count for what the
-- rare ones have found.
words AS MATERIALIZED (
    SELECT
        *, row_number() OVER rarest AS rarity,
        sum(share) OVER rarest * (SELECT windows FROM size) <= {budget} AS chooses
    FROM kept
    WINDOW rarest AS (ORDER BY share, bit)
),
asked AS MATERIALIZED (
    SELECT
        string_agg('(' || query::text || ')', ' | ')::tsquery AS any_word,
        coalesce(bit_or(1::bigint << bit::integer) FILTER (WHERE identifier), 0) AS identifiers,
        coalesce(bool_and(identifier), false) AS only_identifiers,
        coalesce(bool_and(chooses), true) AS all_choose, coalesce(bool_or(chooses), true) AS some_choose
    FROM words
),
-- Two words that stand side by side in the query, at most two stop words between them.
pairs AS MATERIALIZED (
    SELECT tsquery_phrase(english, next_english, (next_place - place)::integer) AS query
    FROM (
        SELECT
            english, place, lead(english) OVER (ORDER BY place) AS next_english, lead(place) OVER (ORDER BY place) AS next_place
        FROM words
        WHERE numnode(english) = 1
    ) AS neighbours
    WHERE next_place - place <= 3
),
-- Up to a few thousand memories are compared one by one: as quick as the index, exact, and no filter can starve it.
few AS MATERIALIZED (
    SELECT m.id, m.created_at FROM memories m WHERE {live_memory} AND {filters} LIMIT {exact_up_to} + 1
),
exact AS MATERIALIZED (
    SELECT count(*) <= {exact_up_to} AS chosen, count(*) AS memories FROM few
),
-- Where even the rarest word is common, texts that hold two of the three rarest choose, and some that hold the rarest.
two_rare AS MATERIALIZED (
    SELECT one.query && other.query AS query, 1::bigint << one.bit::integer | 1::bigint << other.bit::integer AS mask
    FROM words AS one
    JOIN words AS other ON one.rarity < other.rarity AND other.rarity <= 3
    WHERE NOT (SELECT some_choose FROM asked) AND NOT (SELECT chosen FROM exact)
),
-- Filters wait for the shortlist, so that a word of a thousand texts costs no thousand look-ups; but few are few.
hits AS MATERIALIZED (
    SELECT w.memory_id, w.id AS window_id, words.bit::integer AS bit, 1::bigint << words.bit::integer AS mask
    FROM words
    JOIN memory_window w ON w.document @@ words.query AND {live_window}
    WHERE words.chooses AND (NOT (SELECT chosen FROM exact) OR w.memory_id IN (SELECT id FROM few))
    UNION ALL
    SELECT w.memory_id, w.id, words.bit::integer, 1::bigint << words.bit::integer
    FROM few
    JOIN memory_window w ON w.memory_id = few.id
    JOIN words ON NOT words.chooses AND w.document @@ words.query
    WHERE (SELECT chosen FROM exact) AND NOT (SELECT all_choose FROM asked)
    UNION ALL
    SELECT w.memory_id, w.id, NULL, two_rare.mask
    FROM two_rare
    JOIN memory_window w ON w.document @@ two_rare.query AND {live_window}
    UNION ALL (
        SELECT w.memory_id, w.id, NULL, 1::bigint << words.bit::integer
        FROM words
        JOIN memory_window w ON w.document @@ words.query AND {live_window}
        WHERE words.rarity = 1 AND NOT (SELECT some_choose FROM asked) AND NOT (SELECT chosen FROM exact)
        LIMIT {budget}
    )
    UNION ALL
    SELECT m.id, w.id, NULL, 0
    FROM memories m
    LEFT JOIN memory_window w ON w.memory_id = m.id AND w.position = 0
    WHERE m.id = %(direct)s::uuid AND {live_memory}
),
-- Inverse document frequency (Robertson and Sparck Jones, as in BM25): counted where the word chose, else estimated.
weighed AS MATERIALIZED (
    SELECT bit::integer AS bit, query, chooses, ln(1 + greatest(total - held + 0.5, 0.5) / (held + 0.5)) AS idf
    FROM words
    LEFT JOIN (
        SELECT bit, count(DISTINCT memory_id) AS memories FROM hits WHERE bit IS NOT NULL GROUP BY bit
    ) AS counted USING (bit),
    LATERAL (
        SELECT CASE WHEN chosen THEN exact.memories ELSE greatest(size.windows, exact.memories) END FROM exact, size
    ) AS visible(total),
    LATERAL (
        SELECT CASE WHEN chooses OR (SELECT chosen FROM exact) THEN coalesce(memories, 0) ELSE share * total END
    ) AS frequency(held)
),
worth AS MATERIALIZED (
    SELECT greatest(coalesce(sum(idf), 0), 1e-9) AS most FROM weighed
),
window_hits AS MATERIALIZED (
    SELECT memory_id, window_id, bit_or(mask) AS matched
    FROM hits
    GROUP BY memory_id, window_id
),
window_worth AS MATERIALIZED (
    SELECT matched, (SELECT coalesce(sum(idf), 0) FROM weighed WHERE matched >> bit & 1 = 1) AS idf
    FROM (SELECT DISTINCT matched FROM window_hits) AS masks
),
memory_hits AS MATERIALIZED (
    SELECT
        memory_id, bit_or(matched) AS matched,
        (array_agg(window_id ORDER BY window_worth.idf DESC, window_id))[1] AS window_id
    FROM window_hits
    JOIN window_worth USING (matched)
    GROUP BY memory_id
),
memory_worth AS MATERIALIZED (
    SELECT
        matched, bit_count((matched & (SELECT identifiers FROM asked))::bit(64)) AS identifiers,
        (SELECT coalesce(sum(idf), 0) FROM weighed WHERE matched >> bit & 1 = 1) AS idf
    FROM (SELECT DISTINCT matched FROM memory_hits) AS masks
),
-- Ordered before the filters are looked up and not again after: the look-ups end with the list.
shortlist AS MATERIALIZED (
    SELECT ordered.memory_id, window_id, created_at, matched
    FROM (
        SELECT
            memory_id, window_id, memory_hits.matched, idf,
            identifiers + CASE WHEN memory_id = %(direct)s::uuid THEN 64 ELSE 0 END AS exactly
        FROM memory_hits
        JOIN memory_worth USING (matched)
        ORDER BY exactly DESC, idf DESC, memory_id DESC
    ) AS ordered,
    LATERAL (SELECT m.created_at FROM memories m WHERE m.id = ordered.memory_id AND {filters} OFFSET 0) AS visible
    ORDER BY exactly DESC, idf DESC, ordered.memory_id DESC
    LIMIT 2 * {pool}
),
-- Exactly what was pasted first, then identifiers, then the most of the query by rarity, the densest, the newest.
text_leg AS MATERIALIZED (
    SELECT
        memory_id, window_id,
        row_number() OVER (
            ORDER BY
                coalesce(memory_id = %(direct)s::uuid, false) DESC,
                bit_count((matched & (SELECT identifiers FROM asked))::bit(64)) DESC,
                (SELECT coalesce(sum(idf), 0) FROM weighed WHERE (matched | common) >> bit & 1 = 1) DESC,
                density DESC, created_at DESC, memory_id
        ) AS rank
    FROM (
        SELECT
            shortlist.*, ts_rank(w.document, (SELECT any_word FROM asked), 1) AS density,
            CASE WHEN (SELECT all_choose FROM asked) OR (SELECT chosen FROM exact) THEN 0 ELSE (
                SELECT coalesce(bit_or(1::bigint << bit), 0) FROM weighed WHERE NOT chooses AND w.document @@ weighed.query
            ) END AS common
        FROM shortlist
        LEFT JOIN memory_window w ON w.id = shortlist.window_id
    ) AS listed
    ORDER BY rank
    LIMIT {pool}
),
-- Somebody who pastes an error code wants what holds it, not what resembles it: then the vector leg stays away.
by_meaning AS MATERIALIZED (
    SELECT %(vector)s::vector IS NOT NULL
        AND NOT ((SELECT only_identifiers FROM asked) AND EXISTS (SELECT 1 FROM text_leg)) AS wanted
),
compared AS MATERIALIZED (
    SELECT e.memory_id, e.window_id, few.created_at, e.vector <=> %(vector)s::vector AS distance
    FROM few
    JOIN memory_embedding e ON e.memory_id = few.id
    WHERE (SELECT chosen FROM exact)
      AND (SELECT wanted FROM by_meaning)
      AND e.dimensions = {dimensions}
      AND e.model = %(model)s
      AND e.model_version = %(model_version)s
),
-- The index gives up after its first handful unless told to go on until the filters have let enough through, and it
-- has to be told before the scan begins: the subquery in ORDER BY is evaluated once, as the scan's starting point.
indexed AS MATERIALIZED (
    SELECT e.memory_id, e.window_id, m.created_at, e.vector <=> %(vector)s::vector AS distance
    FROM memory_embedding e
    {found_by_index}
    WHERE {live_embedding}
      AND e.dimensions = {dimensions}
      AND e.model = %(model)s
      AND e.model_version = %(model_version)s
      AND e.memory_id <> ALL (%(passed_over)s::uuid[])
      AND (SELECT wanted FROM by_meaning)
      AND NOT (SELECT chosen FROM exact)
    ORDER BY e.vector::halfvec({dimensions}) <=> (
        SELECT %(vector)s::vector::halfvec({dimensions})
        WHERE set_config('hnsw.iterative_scan', 'relaxed_order', true) IS NOT NULL
          AND set_config('hnsw.ef_search', '200', true) IS NOT NULL
    )
    LIMIT {windows}
),
vector_leg AS MATERIALIZED (
    SELECT memory_id, window_id, distance, row_number() OVER (ORDER BY distance, created_at DESC, memory_id) AS rank
    FROM (
        SELECT DISTINCT ON (memory_id) memory_id, window_id, created_at, distance
        FROM (SELECT * FROM compared UNION ALL SELECT * FROM indexed) AS windows
        ORDER BY memory_id, distance, window_id
    ) AS best
    ORDER BY rank
    LIMIT {pool}
),
-- What similarity chance gives: that of all compared, or of vectors taken at even steps through the table.
stepped AS MATERIALIZED (
    SELECT sampled.vector <=> %(vector)s::vector AS distance
    FROM (SELECT min(id) AS low, max(id) AS high FROM memory_embedding) AS span,
    LATERAL generate_series(low, high, greatest(1, (high - low) / {sample})) AS step(id),
    LATERAL (
        SELECT CASE
            WHEN {live_embedding} AND e.dimensions = {dimensions} AND e.model = %(model)s
                AND e.model_version = %(model_version)s THEN e.vector
        END AS vector
        FROM memory_embedding e
        WHERE e.id >= step.id
        ORDER BY e.id
        LIMIT 1
    ) AS sampled
    WHERE (SELECT wanted FROM by_meaning) AND NOT (SELECT chosen FROM exact)
),
background AS MATERIALIZED (
    SELECT
        1 - avg(distance) AS mean, stddev_pop(distance) AS deviation,
        CASE WHEN (SELECT chosen FROM exact) THEN count(distance) ELSE (SELECT windows FROM size) END AS memories
    FROM (SELECT distance FROM compared UNION ALL SELECT distance FROM stepped) AS chance
),
recency_leg AS MATERIALIZED (
    SELECT m.id AS memory_id, row_number() OVER (ORDER BY m.created_at DESC, m.id) AS rank
    FROM memories m
    WHERE {by_recency} AND {live_memory} AND {filters}
    ORDER BY m.created_at DESC, m.id
    LIMIT {pool}
),
-- The excerpt comes from the leg that placed the memory higher; where they agree, from the one a reader can follow.
shown AS MATERIALIZED (
    SELECT
        memory_id, t.rank AS rank_text, v.rank AS rank_vector, r.rank AS rank_recency, v.distance,
        CASE WHEN t.rank <= coalesce(v.rank, t.rank) THEN t.window_id ELSE v.window_id END AS window_id
    FROM text_leg t
    FULL JOIN vector_leg v USING (memory_id)
    FULL JOIN recency_leg r USING (memory_id)
),
named AS MATERIALIZED (
    SELECT DISTINCT tie.memory_id
    FROM memories_entity entity
    JOIN memories_memoryentity tie ON tie.entity_id = entity.id
    WHERE entity.scope_id = ANY (%(scopes)s::bigint[]) AND entity.canonical = ANY (%(names)s::text[])
      AND tie.memory_id IN (SELECT memory_id FROM shown)
)
SELECT
    m.id, m.kind, m.content_sha256, m.created_at, m.provenance, m.session, m.agent, m.pinned, m.superseded_by_id, m.confidence,
    m.scope_id, s.slug, s.retention, length(m.content) AS length,
    coalesce(f.multiplier, 1.0) AS reinforcement,
    shown.rank_vector, shown.rank_text, shown.rank_recency,
    1 - coalesce(shown.distance, e.vector <=> %(vector)s::vector) AS similarity,
    bit_count(match.mask::bit(64)) AS text_matched,
    (SELECT coalesce(sum(idf), 0) FROM weighed WHERE match.mask >> bit & 1 = 1) / worth.most AS coverage,
    bit_count((match.mask & asked.identifiers)::bit(64))::float / greatest(bit_count(asked.identifiers::bit(64)), 1) AS identifier,
    (SELECT coalesce(avg((w.document @@ pairs.query)::integer), 0)::float FROM pairs) AS phrase,
    m.id IN (SELECT memory_id FROM named) AS named,
    coalesce(w.start, 0) AS start, coalesce(w.stop, 0) AS stop, coalesce(w.text, left(m.content, 1200)) AS text,
    left(m.content, 60) AS opening,
    background.mean AS chance_mean, background.deviation AS chance_deviation, background.memories AS chance_count,
    (SELECT count(*) FROM indexed) AS windows_read
FROM shown
JOIN memories m ON m.id = shown.memory_id
JOIN memories_scope s ON s.id = m.scope_id
LEFT JOIN memory_reinforcement f ON f.memory_id = m.id
LEFT JOIN memory_window w ON w.id = shown.window_id
LEFT JOIN memory_embedding e ON e.window_id = shown.window_id AND e.model = %(model)s AND e.model_version = %(model_version)s
    AND e.dimensions = {dimensions} AND shown.distance IS NULL
LEFT JOIN memory_hits ON memory_hits.memory_id = m.id,
LATERAL (
    SELECT coalesce(memory_hits.matched, 0) | CASE
        WHEN (SELECT all_choose FROM asked) OR (SELECT chosen FROM exact) THEN 0
        ELSE (SELECT coalesce(bit_or(1::bigint << bit), 0) FROM weighed WHERE NOT chooses AND w.document @@ weighed.query)
    END
    OFFSET 0  -- else it would be worked out once for each use
) AS match(mask),
worth, asked, background
