-- Evidence that only confirms what the journal says: a transaction or renewal information that
-- Apple signed outside of a notification. It is journaled when it says something new after all.
CREATE TABLE held_evidence (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  notification_uuid BLOB NOT NULL UNIQUE CHECK (length(notification_uuid) = 16),
  source TEXT NOT NULL CHECK (source IN ('transaction', 'renewal')),
  stream_id INTEGER NOT NULL REFERENCES stream (id),
  -- Which transaction it is about; NULL for renewal information.
  transaction_id TEXT,
  signed_date_ms INTEGER NOT NULL,
  received_at_ms INTEGER NOT NULL,
  body_sha256 BLOB NOT NULL CHECK (length(body_sha256) = 32),
  arrival TEXT NOT NULL CHECK (arrival IN ('posted', 'history', 'import', 'asked', 'submitted')),
  dictionary_id INTEGER REFERENCES dictionary (id),
  body BLOB NOT NULL
) STRICT;

CREATE INDEX held_evidence_stream ON held_evidence (stream_id, signed_date_ms);
