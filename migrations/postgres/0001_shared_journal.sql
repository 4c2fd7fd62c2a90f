-- The shared journal. :"schema" and :"daemon" are identifiers, as psql writes its variables.
-- Run by the owner, in one SQL transaction; the daemon's login role is a member of :"daemon".
CREATE SCHEMA :"schema";
SET LOCAL search_path = :"schema";

CREATE TABLE migration (
  number integer PRIMARY KEY,
  name text NOT NULL,
  sha256 bytea NOT NULL CHECK (length(sha256) = 32),
  applied_at_ms bigint NOT NULL
);

-- The id comes from the first daemon, or from `init --from`.
CREATE TABLE journal (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  journal_id bytea NOT NULL CHECK (length(journal_id) = 16)
);

-- The sequencer: who writes, locks its row first. touched: written where nothing else is. Most of
-- each page is left free, so that the row's versions stay on one page.
CREATE TABLE head (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  seq bigint NOT NULL,
  hash bytea NOT NULL CHECK (length(hash) = 32),
  received_at_ms bigint,
  notes bigint NOT NULL DEFAULT 0,
  notes_hash bytea NOT NULL CHECK (length(notes_hash) = 32),
  touched bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
INSERT INTO head (seq, hash, notes_hash)
VALUES (0, decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'));

CREATE TABLE dictionary (
  id bigint PRIMARY KEY,
  header_sha256 bytea NOT NULL UNIQUE CHECK (length(header_sha256) = 32),
  bytes bytea NOT NULL,
  sha256 bytea NOT NULL CHECK (length(sha256) = 32)
);

CREATE TABLE event (
  seq bigint PRIMARY KEY,
  notification_uuid uuid NOT NULL,
  source text NOT NULL CHECK (source <> ''),
  environment text NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
  bundle_id text NOT NULL,
  notification_type text NOT NULL,
  subtype text,
  original_transaction_id text,
  signed_date_ms bigint NOT NULL,
  received_at_ms bigint NOT NULL,
  body_sha256 bytea NOT NULL CHECK (length(body_sha256) = 32),
  hash bytea NOT NULL CHECK (length(hash) = 32),
  dictionary_id bigint REFERENCES dictionary (id),
  body bytea NOT NULL
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
-- It is compressed already.
ALTER TABLE event ALTER COLUMN body SET STORAGE EXTERNAL;
-- Promise 4, under the lock of head.
CREATE UNIQUE INDEX event_uuid ON event (notification_uuid);

-- Writes that are no events, in JSON. hash: the chain over the notes. A body becomes empty when
-- what it was about is removed, because it may be personal.
CREATE TABLE note (
  version bigint PRIMARY KEY,
  subject text NOT NULL,
  sha256 bytea NOT NULL CHECK (length(sha256) = 32),
  hash bytea NOT NULL CHECK (length(hash) = 32),
  body bytea NOT NULL
);
CREATE INDEX note_subject ON note (subject) WHERE body <> '';

-- What one daemon does for all, and how far it is: no part of the journal.
CREATE TABLE duty (
  name text PRIMARY KEY,
  holder text NOT NULL,
  epoch bigint NOT NULL,
  until timestamptz NOT NULL,
  position bytea
);

-- Promise 5.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION 'what was journaled never changes' USING ERRCODE = 'SL005';
END $$;
CREATE TRIGGER event_change BEFORE UPDATE OR DELETE OR TRUNCATE ON event
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER dictionary_change BEFORE UPDATE OR DELETE OR TRUNCATE ON dictionary
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER journal_change BEFORE UPDATE OR DELETE OR TRUNCATE ON journal
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER head_removal BEFORE DELETE OR TRUNCATE ON head
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER note_removal BEFORE DELETE OR TRUNCATE ON note
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER note_change BEFORE UPDATE ON note
  FOR EACH ROW WHEN (NEW.body <> '' OR (OLD.version, OLD.subject, OLD.sha256, OLD.hash)
    IS DISTINCT FROM (NEW.version, NEW.subject, NEW.sha256, NEW.hash))
  EXECUTE FUNCTION refuse_change();

-- Events are dense from the head, and receive times never fall. Runs before head moves, in the same
-- SQL transaction.
CREATE FUNCTION append_at_head() RETURNS trigger LANGUAGE plpgsql
  SET search_path = :"schema", pg_temp AS $$
DECLARE
  n bigint; low bigint; high bigint; first_at bigint; falls boolean; last_seq bigint; last_at bigint;
BEGIN
  SELECT count(*), min(seq), max(seq), min(at), coalesce(bool_or(at < before), false)
    INTO n, low, high, first_at, falls
    FROM (SELECT seq, received_at_ms AS at, lag(received_at_ms) OVER (ORDER BY seq) AS before
          FROM added) a;
  SELECT seq, received_at_ms INTO last_seq, last_at FROM head;
  IF n > 0 AND (low <> last_seq + 1 OR high <> last_seq + n OR falls
                OR first_at < coalesce(last_at, first_at)) THEN
    RAISE EXCEPTION 'events are appended at the head' USING ERRCODE = 'SL001';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER event_append AFTER INSERT ON event REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION append_at_head();

CREATE VIEW journal_v1 AS SELECT seq, notification_uuid::text, source, environment, bundle_id,
  notification_type, subtype, original_transaction_id, signed_date_ms, received_at_ms, body_sha256,
  hash FROM event;

GRANT USAGE ON SCHEMA :"schema" TO :"daemon";
GRANT SELECT ON ALL TABLES IN SCHEMA :"schema" TO :"daemon";
GRANT INSERT ON journal, event, dictionary, note TO :"daemon";
GRANT UPDATE (seq, hash, received_at_ms, notes, notes_hash, touched) ON head TO :"daemon";
GRANT UPDATE (body) ON note TO :"daemon";
GRANT INSERT, UPDATE ON duty TO :"daemon";
