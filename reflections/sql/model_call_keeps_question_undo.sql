DROP TRIGGER model_call_keeps_question ON model_call;
