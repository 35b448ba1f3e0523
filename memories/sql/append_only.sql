-- History is never rewritten: these tables take new rows only.
CREATE FUNCTION zm_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER audit_entry_append_only BEFORE UPDATE OF at, actor, action, object_type, object_id, reason, detail
    ON audit_entry FOR EACH ROW EXECUTE FUNCTION zm_refuse_change();
CREATE TRIGGER config_version_append_only BEFORE UPDATE
    ON config_version FOR EACH ROW EXECUTE FUNCTION zm_refuse_change();
CREATE TRIGGER usage_event_append_only BEFORE UPDATE
    ON usage_event FOR EACH ROW EXECUTE FUNCTION zm_refuse_change();
