-- Whom the owner's statements are about. Deleting a row, together with its key, makes the mac in the
-- journal a hash that nobody can compute again.
CREATE TABLE account (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind IN ('account', 'app_account_token', 'app_transaction_id')),
  name TEXT NOT NULL CHECK (name <> ''),
  key BLOB NOT NULL CHECK (length(key) = 32),
  mac BLOB NOT NULL UNIQUE CHECK (length(mac) = 32)
) STRICT;

CREATE UNIQUE INDEX account_name ON account (kind, name);

CREATE TRIGGER account_update BEFORE UPDATE ON account
BEGIN SELECT raise(ABORT, 'an account never changes'); END;

-- The events that are the owner's, by whom they are about: what their bodies say.
CREATE TABLE statement (
  seq INTEGER PRIMARY KEY REFERENCES event (seq),
  mac BLOB NOT NULL CHECK (length(mac) = 32),
  stream_id INTEGER NOT NULL REFERENCES stream (id)
) STRICT;

CREATE INDEX statement_mac ON statement (mac);

CREATE INDEX statement_stream ON statement (stream_id);

CREATE TRIGGER statement_update BEFORE UPDATE ON statement
BEGIN SELECT raise(ABORT, 'a statement never changes'); END;

CREATE TRIGGER statement_delete BEFORE DELETE ON statement
BEGIN SELECT raise(ABORT, 'a statement never changes'); END;
