-- What a customer's history shows beside the events. Outside the hash chain: none of it is proven.

-- How often a notification came again once it was journaled (promise 4), and when, by our clock.
-- Counted in memory first: a crash may lose the last counts.
CREATE TABLE redelivery (
  seq INTEGER PRIMARY KEY REFERENCES event (seq),
  count INTEGER NOT NULL CHECK (count > 0),
  first_at_ms INTEGER NOT NULL,
  last_at_ms INTEGER NOT NULL CHECK (last_at_ms >= first_at_ms)
) STRICT;

-- Whom a quarantined notification is about, as far as it says.
ALTER TABLE quarantine ADD COLUMN original_transaction_id TEXT;

CREATE INDEX quarantine_stream ON quarantine (original_transaction_id, is_foreign)
WHERE original_transaction_id IS NOT NULL;

-- unnamed_through: up to this id quarantine is older than that column, and still to be read.
INSERT INTO meta (key, value)
SELECT 'unnamed_through', id FROM quarantine ORDER BY id DESC LIMIT 1;
