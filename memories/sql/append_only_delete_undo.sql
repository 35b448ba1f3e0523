DROP TRIGGER audit_entry_never_removed ON audit_entry;
DROP TRIGGER config_version_never_removed ON config_version;
DROP TRIGGER usage_event_never_removed_alone ON usage_event;
DROP FUNCTION zm_refuse_delete();
DROP FUNCTION zm_refuse_delete_of_evidence();
