-- The ledger of checks is evidence like any other: never changed, and removed only together with its memory.
CREATE TRIGGER memory_verification_append_only BEFORE UPDATE
    ON memory_verification FOR EACH ROW EXECUTE FUNCTION zm_refuse_change();

CREATE CONSTRAINT TRIGGER memory_verification_never_removed_alone AFTER DELETE
    ON memory_verification DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION zm_refuse_delete_of_evidence();
