DROP TRIGGER audit_entry_append_only ON audit_entry;
DROP TRIGGER config_version_append_only ON config_version;
DROP TRIGGER usage_event_append_only ON usage_event;
DROP FUNCTION zm_refuse_change();
