-- What can be erased is written once more into pages of its own: those that earlier programs wrote
-- may have copies of rows that SQLite had moved, also of rows that were deleted since. They are
-- zeroed as they are freed, and today's program writes no page with such a copy.
CREATE TABLE rewritten AS SELECT * FROM account;
DELETE FROM account;
INSERT INTO account (id, kind, name, key, mac)
SELECT id, kind, name, key, mac FROM rewritten ORDER BY id;
DROP TABLE rewritten;

CREATE TABLE rewritten AS SELECT * FROM skipped_note;
DELETE FROM skipped_note;
INSERT INTO skipped_note (version, subject, sha256, reason, body)
SELECT version, subject, sha256, reason, body FROM rewritten ORDER BY version;
DROP TABLE rewritten;
