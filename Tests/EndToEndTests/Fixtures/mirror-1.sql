-- A mirror's tables of the first layout, as their owner made them.

CREATE SCHEMA IF NOT EXISTS ledger;

CREATE TABLE ledger.mirror (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  layout bigint NOT NULL,
  generation bigint NOT NULL,
  journal_id bytea,
  fold text,
  seq bigint,
  hash bytea,
  moved_at timestamptz
);
INSERT INTO ledger.mirror (layout, generation) VALUES (1, 0);

CREATE TABLE ledger.entitlement (
  generation bigint NOT NULL,
  environment text NOT NULL,
  bundle_id text NOT NULL,
  original_transaction_id text NOT NULL,
  grace_period_expires_at_ms bigint,
  revoked_at_ms bigint,
  auto_renew boolean,
  price_increase text,
  commitment_auto_renew boolean,
  anomaly boolean NOT NULL,
  succeeded_by text,
  event_count bigint NOT NULL,
  last_event_seq bigint,
  last_notification_uuid uuid,
  last_notification_type text,
  last_subtype text,
  last_signed_date_ms bigint,
  PRIMARY KEY (original_transaction_id, bundle_id, environment, generation)
);

-- One answer, from from_ms (the first: the least bigint) until the next one of the customer.
CREATE TABLE ledger.entitlement_span (
  generation bigint NOT NULL,
  environment text NOT NULL,
  bundle_id text NOT NULL,
  original_transaction_id text NOT NULL,
  from_ms bigint NOT NULL,
  status text NOT NULL,
  gives_access boolean NOT NULL,
  transaction_id text,
  product_id text,
  product_type text,
  ownership text,
  starts_at_ms bigint,
  expires_at_ms bigint,
  pending_product_id text,
  gap boolean NOT NULL,
  app_account_token text,
  app_transaction_id text,
  subscription_group_id text,
  offer_type bigint,
  offer_identifier text,
  offer_discount_type text,
  offer_period text,
  price_milliunits bigint,
  currency text,
  commitment_period bigint,
  commitment_periods bigint,
  commitment_ends_at_ms bigint,
  PRIMARY KEY (original_transaction_id, bundle_id, environment, generation, from_ms)
);
CREATE INDEX entitlement_span_token ON ledger.entitlement_span (app_account_token)
  WHERE app_account_token IS NOT NULL;

-- The owner's accounts that claimed a purchase. An account that is erased leaves.
CREATE TABLE ledger.account (
  generation bigint NOT NULL,
  account text NOT NULL,
  environment text NOT NULL,
  bundle_id text NOT NULL,
  original_transaction_id text NOT NULL,
  PRIMARY KEY (account, original_transaction_id, bundle_id, environment, generation)
);
CREATE INDEX account_purchase
  ON ledger.account (original_transaction_id, bundle_id, environment, generation);

CREATE TABLE ledger.event (
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
CREATE INDEX event_customer ON ledger.event (original_transaction_id);

CREATE FUNCTION ledger.entitlement_as_of(moment timestamptz)
RETURNS TABLE (
  environment text, bundle_id text, original_transaction_id text, transaction_id text,
  product_id text, product_type text, ownership text, status text, gives_access boolean,
  starts_at_ms bigint, expires_at_ms bigint, grace_period_expires_at_ms bigint,
  revoked_at_ms bigint, auto_renew boolean, pending_product_id text, gap boolean,
  app_account_token text, app_transaction_id text, subscription_group_id text, offer_type bigint,
  offer_identifier text, offer_discount_type text, offer_period text, price_milliunits bigint,
  currency text, price_increase text, commitment_period bigint, commitment_periods bigint,
  commitment_ends_at_ms bigint, commitment_auto_renew boolean,
  succeeded_by text, event_count bigint, last_event_seq bigint, last_notification_uuid uuid,
  last_notification_type text, last_subtype text, last_signed_date_ms bigint,
  anomaly boolean)
LANGUAGE sql STABLE ROWS 1000000 AS $$
  SELECT e.environment, e.bundle_id, e.original_transaction_id, s.transaction_id, s.product_id,
    s.product_type, s.ownership, s.status, s.gives_access, s.starts_at_ms, s.expires_at_ms,
    e.grace_period_expires_at_ms, e.revoked_at_ms, e.auto_renew, s.pending_product_id, s.gap,
    s.app_account_token, s.app_transaction_id, s.subscription_group_id, s.offer_type,
    s.offer_identifier, s.offer_discount_type, s.offer_period, s.price_milliunits, s.currency,
    e.price_increase, s.commitment_period, s.commitment_periods, s.commitment_ends_at_ms,
    CASE WHEN s.commitment_period IS NOT NULL THEN e.commitment_auto_renew END,
    e.succeeded_by, e.event_count, e.last_event_seq, e.last_notification_uuid,
    e.last_notification_type, e.last_subtype, e.last_signed_date_ms, e.anomaly
  FROM ledger.mirror m
    JOIN ledger.entitlement e ON e.generation = m.generation
    CROSS JOIN LATERAL (
      SELECT * FROM ledger.entitlement_span p
      WHERE p.original_transaction_id = e.original_transaction_id AND p.bundle_id = e.bundle_id
        AND p.environment = e.environment AND p.generation = e.generation
        AND p.from_ms <= floor(extract(epoch FROM moment) * 1000)::bigint
      ORDER BY p.from_ms DESC LIMIT 1) s
$$;

CREATE VIEW ledger.entitlement_v1 AS SELECT * FROM ledger.entitlement_as_of(now());

CREATE VIEW ledger.entitlement_span_v1 AS
SELECT s.environment, s.bundle_id, s.original_transaction_id,
  nullif(s.from_ms, -9223372036854775808) AS from_ms,
  lead(s.from_ms) OVER (
    PARTITION BY s.original_transaction_id, s.bundle_id, s.environment ORDER BY s.from_ms) AS to_ms,
  s.status, s.gives_access, s.transaction_id, s.product_id, s.expires_at_ms, s.gap
FROM ledger.mirror m JOIN ledger.entitlement_span s ON s.generation = m.generation;

CREATE VIEW ledger.account_v1 AS
SELECT a.account, a.environment, a.bundle_id, a.original_transaction_id
FROM ledger.mirror m JOIN ledger.account a ON a.generation = m.generation;

CREATE VIEW ledger.event_v1 AS
SELECT v.seq, v.notification_uuid, v.source, v.environment, v.bundle_id, v.notification_type,
  v.subtype, v.original_transaction_id, v.signed_date_ms, v.received_at_ms
FROM ledger.mirror m JOIN ledger.event v ON v.generation = m.generation;

GRANT USAGE ON SCHEMA ledger TO mirror;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ledger TO mirror;
