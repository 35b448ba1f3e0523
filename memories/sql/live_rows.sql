-- Windows and embeddings carry the memory's liveness, so that the partial indexes can leave retired rows out.
CREATE FUNCTION zm_follow_liveness() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.invalidated_at IS NULL) <> (NEW.invalidated_at IS NULL) THEN
        UPDATE memory_window SET live = (NEW.invalidated_at IS NULL) WHERE memory_id = NEW.id;
        UPDATE memory_embedding SET live = (NEW.invalidated_at IS NULL) WHERE memory_id = NEW.id;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER memory_liveness_followed AFTER UPDATE OF invalidated_at ON memories
    FOR EACH ROW EXECUTE FUNCTION zm_follow_liveness();

CREATE FUNCTION zm_inherit_liveness() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- The share lock makes a writer that retires the memory at this moment wait, so liveness cannot be missed.
    SELECT invalidated_at IS NULL INTO NEW.live FROM memories WHERE id = NEW.memory_id FOR SHARE;
    RETURN NEW;
END $$;

CREATE TRIGGER window_liveness_inherited BEFORE INSERT ON memory_window
    FOR EACH ROW EXECUTE FUNCTION zm_inherit_liveness();

CREATE TRIGGER embedding_liveness_inherited BEFORE INSERT ON memory_embedding
    FOR EACH ROW EXECUTE FUNCTION zm_inherit_liveness();
