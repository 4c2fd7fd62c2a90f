-- Subledger's mirror: entitlements in a database of yours, to be joined with your own tables.
-- Run as the owner of the schema, once, and again where a newer program has more columns: what is
-- there stays. The daemon's role only writes. Times are milliseconds since 1970 UTC. Rows of another
-- generation than the one in "mirror" are being filled or are old: the views and functions leave
-- them out. Public are entitlement_v1, entitlement_span_v1, transaction_v1, account_v1,
-- event_v1, customer_entitlement_v1 and entitlement_as_of; columns may join at their end.

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
CREATE OR REPLACE VIEW {schema}.entitlement_v1 AS
{query now()};

DROP FUNCTION IF EXISTS {schema}.entitlement_as_of(timestamptz);
CREATE FUNCTION {schema}.entitlement_as_of(moment timestamptz)
RETURNS TABLE (
  {all_columns})
LANGUAGE sql STABLE ROWS 1000000 AS $$
{query moment}
$$;

CREATE OR REPLACE VIEW {schema}.entitlement_span_v1 AS
SELECT s.environment, s.bundle_id, s.original_transaction_id,
  nullif(s.from_ms, -9223372036854775808) AS from_ms,
  lead(s.from_ms) OVER (
    PARTITION BY s.original_transaction_id, s.bundle_id, s.environment ORDER BY s.from_ms) AS to_ms,
  s.status, s.gives_access, s.transaction_id, s.product_id, s.expires_at_ms, s.gap
FROM {schema}.mirror m JOIN {schema}.entitlement_span s ON s.generation = m.generation;

CREATE OR REPLACE VIEW {schema}.transaction_v1 AS
SELECT {line_view}
FROM {schema}.mirror m JOIN {schema}.transaction_line t ON t.generation = m.generation;
{line_comments}

CREATE OR REPLACE VIEW {schema}.account_v1 AS
SELECT a.account, a.environment, a.bundle_id, a.original_transaction_id
FROM {schema}.mirror m JOIN {schema}.account a ON a.generation = m.generation;

CREATE OR REPLACE VIEW {schema}.event_v1 AS
SELECT v.seq, v.notification_uuid, v.source, v.environment, v.bundle_id, v.notification_type,
  v.subtype, v.original_transaction_id, v.signed_date_ms, v.received_at_ms
FROM {schema}.mirror m JOIN {schema}.event v ON v.generation = m.generation;

-- Past the end that was known when a row was written nothing is active, while the daemon is away too.
CREATE OR REPLACE VIEW {schema}.customer_entitlement_v1 AS
SELECT environment, bundle_id, customer_by, customer_id, name, active AND NOT is_over AS active,
  CASE WHEN NOT is_over THEN basis END AS basis,
  CASE WHEN is_over THEN expires_at_ms ELSE since_ms END AS since_ms,
  CASE WHEN NOT is_over THEN expires_at_ms END AS expires_at_ms,
  CASE WHEN NOT is_over THEN product_id END AS product_id,
  CASE WHEN NOT is_over THEN original_transaction_id END AS original_transaction_id
FROM {schema}.customer_entitlement CROSS JOIN LATERAL (SELECT coalesce(
  expires_at_ms <= floor(extract(epoch FROM now()) * 1000)::bigint, false) AS is_over) p;

INSERT INTO {schema}.mirror (layout, generation) VALUES ({layout}, 0)
ON CONFLICT (is_only) DO UPDATE SET layout = EXCLUDED.layout;
