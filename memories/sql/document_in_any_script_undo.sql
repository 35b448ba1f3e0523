CREATE OR REPLACE FUNCTION zm_document(content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN to_tsvector('pg_catalog.english'::regconfig, content)
    || to_tsvector('pg_catalog.simple'::regconfig, regexp_replace(content, '[^[:alnum:]]+', ' ', 'g'));

DROP FUNCTION zm_parts(text);

UPDATE memory_window SET text = text;
