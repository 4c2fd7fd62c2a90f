-- A projection: one entitlement per original transaction id, folded from the journal by one fold.
-- Disposable (promise 7): there is no migration, another schema is another file.
-- Public are the views at the end. Times are milliseconds since 1970 UTC. The words in braces
-- stand for columns that follow from the fields of a row.

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

-- What rows are about, once for each combination: what an app sells.
CREATE TABLE product (
  app_id INTEGER NOT NULL,
  product_id TEXT,
  product_type TEXT,
  subscription_group_id TEXT
) STRICT;

CREATE INDEX product_by_id ON product (app_id, product_id);

-- How long non-renewing products last, and which duration counts from when until when; the first
-- one from the least integer on. milliseconds: null where the product has no end.
CREATE TABLE duration (
  app_id INTEGER NOT NULL,
  product_id TEXT NOT NULL,
  from_ms INTEGER NOT NULL,
  until_ms INTEGER,
  milliseconds INTEGER,
  PRIMARY KEY (app_id, product_id, from_ms)
) STRICT, WITHOUT ROWID;

-- The products whose duration changed, and through which row, by lasting_from_ms and id, answers were
-- evaluated since.
CREATE TABLE changed_duration (
  app_id INTEGER NOT NULL,
  product_id TEXT NOT NULL,
  through_from_ms INTEGER NOT NULL,
  through_id INTEGER NOT NULL,
  PRIMARY KEY (app_id, product_id)
) STRICT, WITHOUT ROWID;

-- What does not depend on time, and the answer as it was evaluated last.
-- checksum: over the columns that follow it. answer_*: status and product from answer_from_ms until
-- answer_until_ms (null: for ever); they are derived from the spans and not in the checksum.
-- renewed_product_id: of the period that the renewal information is about, if it is not the newest.
-- lasting_*: what a configured duration applies to. anomaly: 1 if a transaction has values that no
-- purchase has. From span_count to line_count: the next renewal. request_count: of requests for
-- refunds. broken: why a fold failed (promise 9). state: the fold's registers, compressed.
CREATE TABLE entitlement (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  original_transaction_id TEXT NOT NULL,
  answer_status TEXT,
  answer_product_id TEXT,
  answer_from_ms INTEGER,
  answer_until_ms INTEGER,
  checksum INTEGER NOT NULL,
  broken TEXT,
  lasting_product_id TEXT,
  lasting_from_ms INTEGER,
  event_count INTEGER NOT NULL,
  last_uuid BLOB,
  last_type TEXT,
  last_subtype TEXT,
  last_signed_date_ms INTEGER,
  auto_renew INTEGER,
  renewal_product_id TEXT,
  renewed_product_id TEXT,
  grace_period_expires_at_ms INTEGER,
  price_increase INTEGER,
  commitment_auto_renew INTEGER,
  revoked_at_ms INTEGER,
  anomaly INTEGER NOT NULL,
  span_count INTEGER NOT NULL,
  {terms}
  line_count INTEGER NOT NULL,
  request_count INTEGER NOT NULL,
  last_seq INTEGER,
  state BLOB NOT NULL
) STRICT;

-- One answer, from from_ms (the first: the least integer) until to_ms, when the next span begins.
-- checksum: over all columns, with the original transaction id. expiry: it expires 0 at
-- expires_at_ms, 1 with the next span, 2 at from_ms. is_turn: 1 if status, access or product differ
-- from the span before. What follows is the transaction that covers it, or null.
CREATE TABLE entitlement_span (
  entitlement_id INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  from_ms INTEGER NOT NULL,
  to_ms INTEGER,
  status TEXT NOT NULL,
  gives_access INTEGER NOT NULL,
  product_id TEXT,
  expiry INTEGER NOT NULL,
  expires_at_ms INTEGER,
  gap INTEGER NOT NULL,
  is_turn INTEGER NOT NULL,
  seats INTEGER,
  {purchase}
  PRIMARY KEY (entitlement_id, from_ms)
) STRICT, WITHOUT ROWID;

-- A purchase, and what became of it. checksum: over all columns, with the original transaction id;
-- that of first_seq and last_seq, which depend on the order of arrival, is added to that of the
-- others.
CREATE TABLE transaction_line (
  entitlement_id INTEGER NOT NULL,
  app_id INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  {line}
  PRIMARY KEY (entitlement_id, transaction_id)
) STRICT, WITHOUT ROWID;

-- A request for a refund, as far as it does not depend on the time. checksum: over all columns, with
-- the original transaction id.
CREATE TABLE refund_request (
  entitlement_id INTEGER NOT NULL,
  app_id INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  {request}
  PRIMARY KEY (entitlement_id, notification_uuid)
) STRICT, WITHOUT ROWID;

CREATE INDEX refund_request_deadline ON refund_request (deadline_ms, notification_uuid);
CREATE INDEX refund_request_transaction ON refund_request (transaction_id, deadline_ms, notification_uuid);

-- kind: 1 an appAccountToken, 2 an appTransactionId, 3 a previousOriginalTransactionId, 4 an
-- appAccountToken that the row was told with before.
CREATE TABLE token (
  kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 4),
  value TEXT NOT NULL,
  entitlement_id INTEGER NOT NULL,
  PRIMARY KEY (kind, value, entitlement_id)
) STRICT, WITHOUT ROWID;

-- A purchase that another one replaced, its successor: by the purchase date and the id of the
-- greatest transaction of the successor that names it.
CREATE TABLE predecessor (
  original_transaction_id TEXT NOT NULL,
  app_id INTEGER NOT NULL,
  successor TEXT NOT NULL,
  named_at_ms INTEGER NOT NULL,
  transaction_id TEXT NOT NULL,
  PRIMARY KEY (original_transaction_id, app_id, successor)
) STRICT, WITHOUT ROWID;

-- The events through folded_through by the hour of their receive time. hour_ms: its beginning; 0 of all
-- hours that are 170 or more before the last one. last_seq: the greatest among them.
CREATE TABLE hour (
  hour_ms INTEGER NOT NULL,
  environment TEXT NOT NULL,
  bundle_id TEXT NOT NULL,
  notification_type TEXT NOT NULL,
  source TEXT NOT NULL,
  arrival TEXT NOT NULL,
  count INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  PRIMARY KEY (hour_ms, environment, bundle_id, notification_type, source, arrival)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX entitlement_key ON entitlement (original_transaction_id, app_id);
CREATE INDEX entitlement_broken ON entitlement (app_id) WHERE broken IS NOT NULL;
CREATE INDEX entitlement_anomaly ON entitlement (id) WHERE anomaly;
CREATE INDEX entitlement_lasting ON entitlement (lasting_product_id, lasting_from_ms)
  WHERE lasting_product_id IS NOT NULL;

CREATE VIEW span AS
SELECT s.*, CASE s.expiry WHEN 0 THEN s.expires_at_ms WHEN 2 THEN s.from_ms ELSE (
    SELECT iif(n.expiry = 2, n.from_ms, n.expires_at_ms) FROM entitlement_span n
    WHERE n.entitlement_id = s.entitlement_id AND n.from_ms > s.from_ms AND n.expiry <> 1
    ORDER BY n.from_ms LIMIT 1) END AS paid_through_ms
FROM entitlement_span s;

CREATE VIEW entitlement_v1 AS
WITH clock AS MATERIALIZED (
  SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now
)
SELECT {entitlement}
FROM clock CROSS JOIN entitlement e
  CROSS JOIN span s ON s.entitlement_id = e.id AND s.from_ms = (
    SELECT max(n.from_ms) FROM entitlement_span n
    WHERE n.entitlement_id = e.id AND n.from_ms <= clock.now)
  JOIN app a ON a.id = e.app_id
  LEFT JOIN duration d ON d.app_id = e.app_id AND d.product_id = e.lasting_product_id
    AND d.from_ms <= clock.now AND coalesce(d.until_ms > clock.now, 1);

-- A span, or the part of one in which one duration counts; ends_ms: by that.
CREATE VIEW lasting_span AS
SELECT e.app_id, e.original_transaction_id, s.status, s.gives_access, s.transaction_id,
  s.product_id, s.paid_through_ms, s.gap, e.lasting_from_ms + d.milliseconds AS ends_ms,
  max(s.from_ms, coalesce(d.from_ms, s.from_ms)) AS from_ms,
  nullif(min(coalesce(s.to_ms, 9223372036854775807), coalesce(d.until_ms, 9223372036854775807)),
    9223372036854775807) AS to_ms
FROM entitlement e
  JOIN span s ON s.entitlement_id = e.id
  LEFT JOIN duration d ON d.app_id = e.app_id AND d.product_id = e.lasting_product_id
    AND coalesce(d.from_ms < s.to_ms, 1) AND coalesce(d.until_ms > s.from_ms, 1);

-- A span that a duration ends within is two: before that end, and after it.
CREATE VIEW entitlement_span_v1 AS
SELECT a.environment, a.bundle_id, s.original_transaction_id,
  nullif(s.from_ms, -9223372036854775808) AS from_ms,
  CASE WHEN s.status = 'active' AND coalesce(s.to_ms > s.ends_ms, s.ends_ms IS NOT NULL)
    THEN s.ends_ms ELSE s.to_ms END AS to_ms,
  s.status, s.gives_access, s.transaction_id, s.product_id,
  coalesce(s.ends_ms, s.paid_through_ms) AS expires_at_ms, s.gap
FROM lasting_span s JOIN app a ON a.id = s.app_id
WHERE s.status <> 'active' OR s.ends_ms IS NULL OR s.from_ms < s.ends_ms
UNION ALL
SELECT a.environment, a.bundle_id, s.original_transaction_id,
  nullif(max(s.from_ms, s.ends_ms), -9223372036854775808), s.to_ms,
  'expired', 0, s.transaction_id, s.product_id, s.ends_ms, s.gap
FROM lasting_span s JOIN app a ON a.id = s.app_id
WHERE s.status = 'active' AND coalesce(s.to_ms > s.ends_ms, s.ends_ms IS NOT NULL);

CREATE VIEW transaction_v1 AS
SELECT {transaction}
FROM transaction_line t
  JOIN app a ON a.id = t.app_id
  LEFT JOIN entitlement e ON e.id = t.entitlement_id;

CREATE VIEW refund_v1 AS
SELECT a.environment, a.bundle_id, e.original_transaction_id, t.transaction_id, t.product_id,
  t.purchased_at_ms, (SELECT value FROM json_each(r.value) WHERE key = 'kind') AS kind,
  (SELECT value FROM json_each(r.value) WHERE key = 'at') AS at_ms,
  (SELECT value FROM json_each(r.value) WHERE key = 'milliunits') AS milliunits, t.currency,
  (SELECT value FROM json_each(r.value) WHERE key = 'type') AS type,
  (SELECT value FROM json_each(r.value) WHERE key = 'percentage') AS percentage
FROM transaction_line t
  JOIN app a ON a.id = t.app_id
  JOIN entitlement e ON e.id = t.entitlement_id
  JOIN json_each(t.refunds) r
WHERE t.refunds IS NOT NULL AND NOT {is_replaced};

CREATE VIEW refund_request_v1 AS
WITH clock AS MATERIALIZED (
  SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now
)
SELECT {refund_request}
FROM clock CROSS JOIN refund_request r
  JOIN app a ON a.id = r.app_id
  JOIN entitlement e ON e.id = r.entitlement_id;
