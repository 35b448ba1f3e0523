ALTER TABLE usage_event RENAME TO usage_event_in_months;
CREATE TABLE usage_event (LIKE usage_event_in_months INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING IDENTITY);
INSERT INTO usage_event SELECT * FROM usage_event_in_months;
SELECT setval(pg_get_serial_sequence('usage_event', 'id'), max(id)) FROM usage_event HAVING max(id) IS NOT NULL;
DROP TABLE usage_event_in_months;
DROP FUNCTION zm_keep_usage_month(date);
ALTER TABLE usage_event ADD CONSTRAINT usage_event_pkey PRIMARY KEY (id);
CREATE INDEX usage_event_memory_at ON usage_event (memory_id, at DESC);
CREATE INDEX usage_event_memory_id_56beab52 ON usage_event (memory_id);
CREATE INDEX usage_event_user_id_54df0961 ON usage_event (user_id);
ALTER TABLE usage_event
    ADD CONSTRAINT usage_event_memory_id_56beab52_fk_memories_id
        FOREIGN KEY (memory_id) REFERENCES memories (id) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT usage_event_user_id_54df0961_fk_memories_user_id
        FOREIGN KEY (user_id) REFERENCES memories_user (id) DEFERRABLE INITIALLY DEFERRED;
CREATE TRIGGER usage_event_append_only BEFORE UPDATE
    ON usage_event FOR EACH ROW EXECUTE FUNCTION zm_refuse_change();
CREATE CONSTRAINT TRIGGER usage_event_never_removed_alone AFTER DELETE
    ON usage_event DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION zm_refuse_delete_of_evidence();
