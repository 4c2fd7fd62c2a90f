-- A journal may be a copy of a shared journal, and then nothing but what that one has is written.
-- shared: 1 on a copy. notes, notes_hash: how many of its notes are in it, and their chain. A program
-- without this migration would append to a copy by itself.
INSERT INTO meta (key, value) VALUES ('shared', 0);
