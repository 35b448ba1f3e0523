-- What a text is cut into besides English stems, for documents and queries alike: no accents, no punctuation, and every
-- character of a script without spaces on its own, so that a phrase of them finds any fragment.
CREATE FUNCTION zm_parts(content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN regexp_replace(regexp_replace(
    normalize(regexp_replace(normalize(content, NFKD), '[\u0300-\u036f]', '', 'g'), NFC),
    '[^[:alnum:]]+', ' ', 'g'),
    '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff])',
    ' \1 ', 'g');

-- What the text leg searches: English stems, plus every part of every identifier, path and number as it is.
CREATE OR REPLACE FUNCTION zm_document(content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN to_tsvector('pg_catalog.english'::regconfig, normalize(content, NFKC))
    || to_tsvector('pg_catalog.simple'::regconfig, zm_parts(content));

UPDATE memory_window SET text = text;
