-- The journal: what Apple said, once and for ever. Promises 1 to 5.

CREATE TABLE migration (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
  applied_at_ms INTEGER NOT NULL
) STRICT;

-- journal_id: 16 random bytes, who this journal is. open: 1 while a daemon writes.
-- generation: grows with each start of the -wal.
-- foreign_overflow: notifications of other apps that were only counted.
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE app (
  id INTEGER PRIMARY KEY,
  environment TEXT NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
  bundle_id TEXT NOT NULL,
  UNIQUE (bundle_id, environment)
) STRICT;

-- All events of one (environment, bundle id, original transaction id); those without such an id
-- share one stream per app.
CREATE TABLE stream (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL REFERENCES app (id),
  original_transaction_id TEXT
) STRICT;

CREATE UNIQUE INDEX stream_key ON stream (original_transaction_id, app_id);

CREATE UNIQUE INDEX stream_without_key ON stream (app_id) WHERE original_transaction_id IS NULL;

CREATE TABLE kind (
  id INTEGER PRIMARY KEY,
  notification_type TEXT NOT NULL,
  subtype TEXT
) STRICT;

-- What bodies are compressed against: a signing header and one payload. header_sha256 finds it.
CREATE TABLE dictionary (
  id INTEGER PRIMARY KEY,
  header_sha256 BLOB NOT NULL UNIQUE CHECK (length(header_sha256) = 32),
  bytes BLOB NOT NULL,
  sha256 BLOB NOT NULL CHECK (length(sha256) = 32)
) STRICT;

CREATE TABLE event (
  seq INTEGER PRIMARY KEY,
  notification_uuid BLOB NOT NULL CHECK (length(notification_uuid) = 16),
  source TEXT NOT NULL CHECK (source <> ''),
  stream_id INTEGER NOT NULL REFERENCES stream (id),
  kind_id INTEGER NOT NULL REFERENCES kind (id),
  dictionary_id INTEGER REFERENCES dictionary (id),
  signed_date_ms INTEGER NOT NULL,
  received_at_ms INTEGER NOT NULL,
  body_sha256 BLOB NOT NULL CHECK (length(body_sha256) = 32),
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  body BLOB NOT NULL
) STRICT;

-- Promise 4: the key never expires.
CREATE UNIQUE INDEX event_uuid ON event (notification_uuid);

CREATE INDEX event_stream ON event (stream_id);

-- Promise 5. The uuid is asked for here because INSERT OR REPLACE would delete without a trigger.
CREATE TRIGGER event_append BEFORE INSERT ON event
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM event)
  OR NEW.received_at_ms < (SELECT received_at_ms FROM event ORDER BY seq DESC LIMIT 1)
  OR EXISTS (SELECT 1 FROM event WHERE notification_uuid = NEW.notification_uuid)
BEGIN
  SELECT raise(ABORT, 'an event is appended once, at the head');
END;

CREATE TRIGGER event_update BEFORE UPDATE ON event
BEGIN SELECT raise(ABORT, 'a journaled event never changes'); END;

CREATE TRIGGER event_delete BEFORE DELETE ON event
BEGIN SELECT raise(ABORT, 'a journaled event never changes'); END;

CREATE TRIGGER stream_update BEFORE UPDATE ON stream
BEGIN SELECT raise(ABORT, 'a stream never changes'); END;

CREATE TRIGGER stream_delete BEFORE DELETE ON stream
BEGIN SELECT raise(ABORT, 'a stream never changes'); END;

CREATE TRIGGER app_update BEFORE UPDATE ON app
BEGIN SELECT raise(ABORT, 'an app never changes'); END;

CREATE TRIGGER app_delete BEFORE DELETE ON app
BEGIN SELECT raise(ABORT, 'an app never changes'); END;

CREATE TRIGGER kind_update BEFORE UPDATE ON kind
BEGIN SELECT raise(ABORT, 'a kind never changes'); END;

CREATE TRIGGER kind_delete BEFORE DELETE ON kind
BEGIN SELECT raise(ABORT, 'a kind never changes'); END;

CREATE TRIGGER dictionary_update BEFORE UPDATE ON dictionary
BEGIN SELECT raise(ABORT, 'a dictionary never changes'); END;

CREATE TRIGGER dictionary_delete BEFORE DELETE ON dictionary
BEGIN SELECT raise(ABORT, 'a dictionary never changes'); END;

CREATE TRIGGER meta_update BEFORE UPDATE ON meta WHEN OLD.key = 'journal_id'
BEGIN SELECT raise(ABORT, 'a journal keeps its id'); END;

CREATE TRIGGER meta_delete BEFORE DELETE ON meta
BEGIN SELECT raise(ABORT, 'a journal keeps its id'); END;

-- What was genuine and not admitted (promise 2): once per uuid, per body where there is none.
CREATE TABLE quarantine (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  reason TEXT NOT NULL,
  is_foreign INTEGER NOT NULL CHECK (is_foreign IN (0, 1)),
  source TEXT NOT NULL,
  notification_uuid TEXT,
  environment TEXT,
  bundle_id TEXT,
  notification_type TEXT,
  signed_date_ms INTEGER,
  received_at_ms INTEGER NOT NULL,
  body_sha256 BLOB NOT NULL CHECK (length(body_sha256) = 32),
  dictionary_id INTEGER REFERENCES dictionary (id),
  body BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX quarantine_uuid ON quarantine (notification_uuid)
WHERE notification_uuid IS NOT NULL;

CREATE UNIQUE INDEX quarantine_body ON quarantine (body_sha256) WHERE notification_uuid IS NULL;

CREATE INDEX quarantine_foreign ON quarantine (is_foreign) WHERE is_foreign = 1;

CREATE VIEW journal_v1 AS
SELECT
  event.seq AS seq,
  lower(
    substr(hex(notification_uuid), 1, 8) || '-' || substr(hex(notification_uuid), 9, 4) || '-'
    || substr(hex(notification_uuid), 13, 4) || '-' || substr(hex(notification_uuid), 17, 4) || '-'
    || substr(hex(notification_uuid), 21, 12)
  ) AS notification_uuid,
  source,
  environment,
  bundle_id,
  notification_type,
  subtype,
  original_transaction_id,
  signed_date_ms,
  received_at_ms,
  body_sha256,
  hash
FROM event
JOIN stream ON stream.id = event.stream_id
JOIN app ON app.id = stream.app_id
JOIN kind ON kind.id = event.kind_id;

CREATE VIEW quarantine_v1 AS
SELECT
  id, reason, source, notification_uuid, environment, bundle_id, notification_type,
  signed_date_ms, received_at_ms, body_sha256
FROM quarantine;
