-- How an event arrived, unless Apple posted it. Outside the hash chain: none of it is proven.
CREATE TABLE arrival (
  seq INTEGER PRIMARY KEY REFERENCES event (seq),
  how TEXT NOT NULL CHECK (how IN ('history', 'import', 'asked', 'submitted'))
) STRICT;

CREATE TRIGGER arrival_update BEFORE UPDATE ON arrival
BEGIN SELECT raise(ABORT, 'how an event arrived never changes'); END;

CREATE TRIGGER arrival_delete BEFORE DELETE ON arrival
BEGIN SELECT raise(ABORT, 'how an event arrived never changes'); END;

DROP VIEW journal_v1;

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
  hash,
  coalesce((SELECT how FROM arrival WHERE arrival.seq = event.seq), 'posted') AS arrival
FROM event
JOIN stream ON stream.id = event.stream_id
JOIN app ON app.id = stream.app_id
JOIN kind ON kind.id = event.kind_id;
