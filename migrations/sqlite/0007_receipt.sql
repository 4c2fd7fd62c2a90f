-- App receipts, each once: the events and the held evidence of source receipt name theirs by its
-- hash. Promise 5: from the first event on that names it, a receipt never changes.
CREATE TABLE receipt (
  id INTEGER PRIMARY KEY,
  sha256 BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32),
  is_journaled INTEGER NOT NULL CHECK (is_journaled IN (0, 1)),
  body BLOB NOT NULL
) STRICT;

CREATE TRIGGER receipt_insert BEFORE INSERT ON receipt
WHEN EXISTS (SELECT 1 FROM receipt WHERE sha256 = NEW.sha256 OR id = NEW.id)
BEGIN SELECT raise(ABORT, 'a receipt is stored once'); END;

CREATE TRIGGER receipt_update BEFORE UPDATE ON receipt
WHEN OLD.is_journaled = 1 OR NEW.id <> OLD.id OR NEW.sha256 <> OLD.sha256 OR NEW.body <> OLD.body
BEGIN SELECT raise(ABORT, 'a journaled receipt never changes'); END;

CREATE TRIGGER receipt_delete BEFORE DELETE ON receipt WHEN OLD.is_journaled = 1
BEGIN SELECT raise(ABORT, 'a journaled receipt never changes'); END;

-- As before, and receipts.
ALTER TABLE held_evidence RENAME TO held_evidence_5;

CREATE TABLE held_evidence (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  notification_uuid BLOB NOT NULL UNIQUE CHECK (length(notification_uuid) = 16),
  source TEXT NOT NULL CHECK (source IN ('transaction', 'renewal', 'receipt')),
  stream_id INTEGER NOT NULL REFERENCES stream (id),
  -- Which transaction it is about; NULL for renewal information and receipts.
  transaction_id TEXT,
  signed_date_ms INTEGER NOT NULL,
  received_at_ms INTEGER NOT NULL,
  body_sha256 BLOB NOT NULL CHECK (length(body_sha256) = 32),
  arrival TEXT NOT NULL CHECK (arrival IN ('posted', 'history', 'import', 'asked', 'submitted')),
  dictionary_id INTEGER REFERENCES dictionary (id),
  body BLOB NOT NULL
) STRICT;

INSERT INTO held_evidence SELECT * FROM held_evidence_5;

-- Ids are never used again.
DELETE FROM sqlite_sequence WHERE name = 'held_evidence';

UPDATE sqlite_sequence SET name = 'held_evidence' WHERE name = 'held_evidence_5';

DROP TABLE held_evidence_5;

CREATE INDEX held_evidence_stream ON held_evidence (stream_id, signed_date_ms);

CREATE INDEX held_evidence_receipt ON held_evidence (body_sha256) WHERE source = 'receipt';
