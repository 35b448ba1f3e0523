-- What was asked and spent stays as it was. A scope may go, and the raw answers may be emptied, for they can quote
-- what a person has erased.
CREATE TRIGGER model_call_append_only BEFORE UPDATE OF at, job, run_id, model, input_tokens, output_tokens, requests,
    seconds, outcome, reason ON model_call FOR EACH ROW EXECUTE FUNCTION zm_refuse_change();
CREATE TRIGGER model_call_raw_not_rewritten BEFORE UPDATE OF raw ON model_call
    FOR EACH ROW WHEN (NEW.raw NOT IN ('', OLD.raw)) EXECUTE FUNCTION zm_refuse_change();
CREATE TRIGGER model_call_never_removed BEFORE DELETE
    ON model_call FOR EACH ROW EXECUTE FUNCTION zm_refuse_delete();
