-- Subledger's mirror: entitlements in a database of yours, to be joined with your own tables.
-- Run as the owner of the schema, once, and again where a newer program has more columns: what is
-- there stays. The daemon's role only writes. Times are milliseconds since 1970 UTC; views have them
-- as dates too. Rows of another generation than the one in "mirror" are being filled or are old: the
-- views and functions leave them out. Public are entitlement_v1, entitlement_span_v1, transaction_v1,
-- refund_v1, refund_request_v1, account_v1, event_v1, customer_entitlement_v1 and entitlement_as_of;
-- columns may join at their end.

CREATE SCHEMA IF NOT EXISTS {schema};

CREATE TABLE IF NOT EXISTS {schema}.mirror (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  layout bigint NOT NULL,
  generation bigint NOT NULL,
  journal_id bytea,
  fold text,
  seq bigint,
  hash bytea,
  moved_at timestamptz
);

CREATE TABLE IF NOT EXISTS {schema}.entitlement (
  generation bigint NOT NULL,
  {row_columns},
  PRIMARY KEY (original_transaction_id, bundle_id, environment, generation)
);

-- One answer, from from_ms (the first: the least bigint) until the next one of the customer.
CREATE TABLE IF NOT EXISTS {schema}.entitlement_span (
  generation bigint NOT NULL,
  from_ms bigint NOT NULL,
  {span_columns},
  PRIMARY KEY (original_transaction_id, bundle_id, environment, generation, from_ms)
);
CREATE INDEX IF NOT EXISTS entitlement_span_token ON {schema}.entitlement_span (app_account_token)
  WHERE app_account_token IS NOT NULL;

-- A purchase of a customer, and what became of it.
CREATE TABLE IF NOT EXISTS {schema}.transaction_line (
  generation bigint NOT NULL,
  {line_columns},
  PRIMARY KEY (original_transaction_id, bundle_id, environment, generation, transaction_id)
);

-- A request of a customer for a refund, as far as it does not depend on the time.
CREATE TABLE IF NOT EXISTS {schema}.refund_request (
  generation bigint NOT NULL,
  {request_columns},
  PRIMARY KEY (original_transaction_id, bundle_id, environment, generation, notification_uuid)
);

-- The owner's accounts that claimed a purchase. An account that is erased leaves.
CREATE TABLE IF NOT EXISTS {schema}.account (
  generation bigint NOT NULL,
  account text NOT NULL,
  environment text NOT NULL,
  bundle_id text NOT NULL,
  original_transaction_id text NOT NULL,
  PRIMARY KEY (account, original_transaction_id, bundle_id, environment, generation)
);
CREATE INDEX IF NOT EXISTS account_purchase
  ON {schema}.account (original_transaction_id, bundle_id, environment, generation);

CREATE TABLE IF NOT EXISTS {schema}.event (
  generation bigint NOT NULL,
  seq bigint NOT NULL,
  notification_uuid uuid NOT NULL,
  source text NOT NULL,
  environment text,
  bundle_id text,
  notification_type text NOT NULL,
  subtype text,
  original_transaction_id text,
  signed_date_ms bigint NOT NULL,
  received_at_ms bigint NOT NULL,
  PRIMARY KEY (seq, generation)
);
CREATE INDEX IF NOT EXISTS event_customer ON {schema}.event (original_transaction_id);

-- What customers have by name. An account that is erased leaves.
CREATE TABLE IF NOT EXISTS {schema}.customer_entitlement (
  environment text NOT NULL,
  bundle_id text NOT NULL,
  customer_by text NOT NULL,
  customer_id text NOT NULL,
  name text NOT NULL,
  active boolean NOT NULL,
  basis text,
  since_ms bigint NOT NULL,
  expires_at_ms bigint,
  product_id text,
  original_transaction_id text,
  PRIMARY KEY (customer_id, customer_by, name, bundle_id, environment)
);
ALTER TABLE {schema}.mirror ADD COLUMN IF NOT EXISTS customers_file bytea;
ALTER TABLE {schema}.mirror ADD COLUMN IF NOT EXISTS customers_revision bigint;

{later_columns}
-- Null where PostgreSQL has no such date.
CREATE OR REPLACE FUNCTION {schema}.date_of(ms bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN ms BETWEEN -62135596800000 AND 253402300799999
    THEN timestamptz 'epoch' + ms * interval '1 millisecond' END
$$;

CREATE OR REPLACE VIEW {schema}.entitlement_v1 AS
{query now()};
{row_comments}

DROP FUNCTION IF EXISTS {schema}.entitlement_as_of(timestamptz);
CREATE FUNCTION {schema}.entitlement_as_of(moment timestamptz)
RETURNS TABLE (
  {all_columns},
  {all_dates})
LANGUAGE sql STABLE ROWS 1000000 AS $$
{query moment}
$$;

CREATE OR REPLACE VIEW {schema}.entitlement_span_v1 AS
SELECT a.*, {schema}.date_of(from_ms) AS from_date, {schema}.date_of(to_ms) AS to_date,
  {schema}.date_of(expires_at_ms) AS expires_at
FROM (SELECT s.environment, s.bundle_id, s.original_transaction_id,
    nullif(s.from_ms, -9223372036854775808) AS from_ms,
    lead(s.from_ms) OVER (
      PARTITION BY s.original_transaction_id, s.bundle_id, s.environment ORDER BY s.from_ms)
      AS to_ms,
    s.status, s.gives_access, s.transaction_id, s.product_id, s.expires_at_ms, s.gap
  FROM {schema}.mirror m JOIN {schema}.entitlement_span s ON s.generation = m.generation) a;
COMMENT ON COLUMN {schema}.entitlement_span_v1.from_date IS
  'From when the answer was this; null: since ever.';
COMMENT ON COLUMN {schema}.entitlement_span_v1.to_date IS
  'Until when; null: as far as is known now.';
COMMENT ON COLUMN {schema}.entitlement_span_v1.expires_at IS
  'The end of what was paid for; null if there is none.';

CREATE OR REPLACE VIEW {schema}.transaction_v1 AS
SELECT {line_view}
FROM {schema}.mirror m JOIN {schema}.transaction_line t ON t.generation = m.generation;
{line_comments}

-- Each refund of a purchase, and each reversal of one.
CREATE OR REPLACE VIEW {schema}.refund_v1 AS
SELECT t.environment, t.bundle_id, t.original_transaction_id, t.transaction_id, t.product_id,
  {schema}.date_of(t.purchased_at_ms) AS purchased_at, r ->> 'kind' AS kind,
  {schema}.date_of((r ->> 'at')::bigint) AS at,
  (r ->> 'milliunits')::bigint AS milliunits, t.currency, r ->> 'type' AS type,
  (r ->> 'percentage')::bigint AS percentage
FROM {schema}.mirror m JOIN {schema}.transaction_line t ON t.generation = m.generation,
  jsonb_array_elements(t.refunds::jsonb) r;

CREATE OR REPLACE VIEW {schema}.refund_request_v1 AS
SELECT {request_view}
FROM {schema}.mirror m JOIN {schema}.refund_request t ON t.generation = m.generation;
{request_comments}

CREATE OR REPLACE VIEW {schema}.account_v1 AS
SELECT a.account, a.environment, a.bundle_id, a.original_transaction_id
FROM {schema}.mirror m JOIN {schema}.account a ON a.generation = m.generation;

CREATE OR REPLACE VIEW {schema}.event_v1 AS
SELECT v.seq, v.notification_uuid, v.source, v.environment, v.bundle_id, v.notification_type,
  v.subtype, v.original_transaction_id, v.signed_date_ms, v.received_at_ms,
  {schema}.date_of(v.signed_date_ms) AS signed_date,
  {schema}.date_of(v.received_at_ms) AS received_at
FROM {schema}.mirror m JOIN {schema}.event v ON v.generation = m.generation;
COMMENT ON COLUMN {schema}.event_v1.signed_date IS 'When Apple signed it.';
COMMENT ON COLUMN {schema}.event_v1.received_at IS 'When it was received.';

-- Past the end that was known when a row was written nothing is active, while the daemon is away too.
CREATE OR REPLACE VIEW {schema}.customer_entitlement_v1 AS
SELECT a.*, {schema}.date_of(since_ms) AS since, {schema}.date_of(expires_at_ms) AS expires_at
FROM (SELECT environment, bundle_id, customer_by, customer_id, name,
    active AND NOT is_over AS active, CASE WHEN NOT is_over THEN basis END AS basis,
    CASE WHEN is_over THEN expires_at_ms ELSE since_ms END AS since_ms,
    CASE WHEN NOT is_over THEN expires_at_ms END AS expires_at_ms,
    CASE WHEN NOT is_over THEN product_id END AS product_id,
    CASE WHEN NOT is_over THEN original_transaction_id END AS original_transaction_id
  FROM {schema}.customer_entitlement CROSS JOIN LATERAL (SELECT coalesce(
    expires_at_ms <= floor(extract(epoch FROM now()) * 1000)::bigint, false) AS is_over) p) a;
COMMENT ON COLUMN {schema}.customer_entitlement_v1.since IS
  'Since when it is active, or is not, as far as was followed.';
COMMENT ON COLUMN {schema}.customer_entitlement_v1.expires_at IS
  'When it ends, as far as is known; null if it does not.';

INSERT INTO {schema}.mirror (layout, generation) VALUES ({layout}, 0)
ON CONFLICT (is_only) DO UPDATE SET layout = EXCLUDED.layout;
