-- What a copy followed and does not take for what it says, because another daemon wrote it. Only in
-- this copy; empty in a journal of its own.
-- broken_event: the body cannot be recovered, or is not what its hash says.
CREATE TABLE broken_event (seq INTEGER PRIMARY KEY REFERENCES event (seq)) STRICT;

-- unproven_event: no trust root of ours leads to its signature, or its columns do not follow from
-- its body. It folds into nothing.
CREATE TABLE unproven_event (seq INTEGER PRIMARY KEY REFERENCES event (seq)) STRICT;

-- skipped_note: a note that was not applied. A later note about the same row replaces it.
-- reason: newer, a table or a column that this program does not know; invalid, nothing that any
-- program would write; unproven, evidence to which no trust root of ours leads.
CREATE TABLE skipped_note (
  version INTEGER PRIMARY KEY,
  subject TEXT NOT NULL,
  sha256 BLOB NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('newer', 'invalid', 'unproven')),
  body BLOB NOT NULL
) STRICT;

CREATE INDEX skipped_note_subject ON skipped_note (subject);
