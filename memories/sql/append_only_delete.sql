-- What was written stays. The tests' TRUNCATE fires no row trigger.
CREATE FUNCTION zm_refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are never removed', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER audit_entry_never_removed BEFORE DELETE
    ON audit_entry FOR EACH ROW EXECUTE FUNCTION zm_refuse_delete();
CREATE TRIGGER config_version_never_removed BEFORE DELETE
    ON config_version FOR EACH ROW EXECUTE FUNCTION zm_refuse_delete();

-- Evidence goes only together with the memory it is about, which a person may erase; so it is judged at the commit.
CREATE FUNCTION zm_refuse_delete_of_evidence() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM memories WHERE id = OLD.memory_id) THEN
        RAISE EXCEPTION 'rows of % are never removed while their memory stands', TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER usage_event_never_removed_alone AFTER DELETE
    ON usage_event DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION zm_refuse_delete_of_evidence();
