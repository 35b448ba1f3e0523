DROP TRIGGER model_call_never_removed ON model_call;
DROP TRIGGER model_call_raw_not_rewritten ON model_call;
DROP TRIGGER model_call_append_only ON model_call;
