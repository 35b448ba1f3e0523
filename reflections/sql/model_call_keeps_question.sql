-- Which question it was and how its tokens were counted stay as they were too.
CREATE TRIGGER model_call_keeps_question BEFORE UPDATE OF question, estimated ON model_call
    FOR EACH ROW EXECUTE FUNCTION zm_refuse_change();
