-- A projection: one row per original transaction id, folded from the journal by one fold version.
-- Disposable (promise 7): there is no migration, another schema is another file.

CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE app (
  id INTEGER PRIMARY KEY,
  environment TEXT NOT NULL,
  bundle_id TEXT NOT NULL,
  UNIQUE (bundle_id, environment)
) STRICT;

-- state: the fold's own bytes. last_seq: the place in the journal of the event that state calls the
-- last; apart from it because all else is the same in every order of arrival (promise 6).
-- tokens: the lists as they were when the token rows were written. broken: why a fold failed
-- (promise 9).
CREATE TABLE entitlement (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  original_transaction_id TEXT NOT NULL,
  last_seq INTEGER,
  broken TEXT,
  tokens BLOB,
  state BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX entitlement_key ON entitlement (original_transaction_id, app_id);

CREATE INDEX entitlement_broken ON entitlement (id) WHERE broken IS NOT NULL;

-- kind: 1 an appAccountToken, 2 an appTransactionId, 3 a previousOriginalTransactionId.
CREATE TABLE token (
  kind INTEGER NOT NULL CHECK (kind IN (1, 2, 3)),
  value TEXT NOT NULL,
  entitlement_id INTEGER NOT NULL,
  PRIMARY KEY (kind, value, entitlement_id)
) STRICT, WITHOUT ROWID;
