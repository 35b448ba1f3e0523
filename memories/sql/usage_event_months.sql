-- One table for each month, and one for what falls into no month that has a table, so that no write can fail.
-- The key holds the moment because a partitioned table's must; ids still come from one sequence.
ALTER TABLE usage_event RENAME TO usage_event_before;
CREATE TABLE usage_event (LIKE usage_event_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING IDENTITY)
    PARTITION BY RANGE (at);
CREATE TABLE usage_event_default PARTITION OF usage_event DEFAULT;

-- True when it made the table of the month in which the day lies, in UTC. What waited in the default table moves over:
-- that one is detached meanwhile, since evidence is never removed from a table that counts.
CREATE FUNCTION zm_keep_usage_month(day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    name text := 'usage_event_' || to_char(day, 'YYYY_MM');
    first_moment timestamptz := date_trunc('month', day::timestamp) AT TIME ZONE 'UTC';
    next_month timestamptz := (date_trunc('month', day::timestamp) + interval '1 month') AT TIME ZONE 'UTC';
    waiting boolean;
BEGIN
    IF to_regclass(name) IS NOT NULL THEN
        RETURN false;
    END IF;
    LOCK TABLE usage_event_default IN ACCESS EXCLUSIVE MODE;
    IF to_regclass(name) IS NOT NULL THEN
        RETURN false;
    END IF;
    waiting := EXISTS (SELECT FROM usage_event_default WHERE at >= first_moment AND at < next_month);
    IF waiting THEN
        SET CONSTRAINTS ALL IMMEDIATE;  -- no table changes while checks of its rows are due
        SET CONSTRAINTS ALL DEFERRED;
        ALTER TABLE usage_event DETACH PARTITION usage_event_default;
    END IF;
    EXECUTE format(
        'CREATE TABLE %I PARTITION OF usage_event FOR VALUES FROM (%L) TO (%L)', name, first_moment, next_month
    );
    IF waiting THEN
        WITH moved AS (
            DELETE FROM usage_event_default WHERE at >= first_moment AND at < next_month RETURNING *
        )
        INSERT INTO usage_event SELECT * FROM moved;
        ALTER TABLE usage_event ATTACH PARTITION usage_event_default DEFAULT;
    END IF;
    RETURN true;
END $$;

-- The window of the roll-up, and the months to come.
SELECT zm_keep_usage_month((now() AT TIME ZONE 'UTC' + make_interval(months => n))::date) FROM generate_series(-4, 3) n;

INSERT INTO usage_event SELECT * FROM usage_event_before;
SELECT setval(pg_get_serial_sequence('usage_event', 'id'), max(id)) FROM usage_event HAVING max(id) IS NOT NULL;
DROP TABLE usage_event_before;

ALTER TABLE usage_event ADD CONSTRAINT usage_event_pkey PRIMARY KEY (id, at);
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
