DROP TRIGGER memory_liveness_followed ON memories;
DROP TRIGGER window_liveness_inherited ON memory_window;
DROP TRIGGER embedding_liveness_inherited ON memory_embedding;
DROP FUNCTION zm_follow_liveness();
DROP FUNCTION zm_inherit_liveness();
