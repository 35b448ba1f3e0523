-- What the text leg searches: English stems, plus every part of every identifier, path and number as it is.
CREATE FUNCTION zm_document(content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN to_tsvector('pg_catalog.english'::regconfig, content)
    || to_tsvector('pg_catalog.simple'::regconfig, regexp_replace(content, '[^[:alnum:]]+', ' ', 'g'));
