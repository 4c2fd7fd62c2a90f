-- title: Who ended in a month, and why?
-- A subscription ended where no other purchase continues it. Those who have bought again since are
-- came back, and those whose charge Apple still tries are a line of their own, so that the month
-- has the same sum whenever it is asked about. Apple's reason is expiration_reason. Where Apple
-- gives none, it is what the renewal was like: after 60 days without a charge Apple switches it
-- off too.
-- parameter: month
WITH ended AS MATERIALIZED (
  SELECT environment, bundle_id, original_transaction_id, ended_at_ms FROM transaction_v1
  WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND product_type = 'Auto-Renewable Subscription' AND ended_at_ms > purchased_at_ms
    AND ended_at_ms BETWEEN unixepoch(:month || '-01') * 1000
      AND unixepoch(:month || '-01', '+1 month') * 1000 - 1)
SELECT CASE WHEN EXISTS (SELECT 1 FROM transaction_v1 AS later
    WHERE later.environment = ended.environment AND later.bundle_id = ended.bundle_id
      AND later.original_transaction_id = ended.original_transaction_id
      AND later.purchased_at_ms > ended.ended_at_ms
      AND later.ended_at_ms > later.purchased_at_ms) THEN 'came back'
    WHEN e.status = 'billing_retry' THEN 'charge fails, still tried'
    WHEN e.status = 'grace_period' THEN 'charge fails, in grace period'
    WHEN e.status = 'revoked' THEN 'refunded' ELSE coalesce(
      CASE e.expiration_reason WHEN 'cancelled' THEN 'switched off'
        WHEN 'billing' THEN 'charge failed' WHEN 'not_for_sale' THEN 'not for sale'
        WHEN 'price_increase' THEN 'did not agree to a price'
        WHEN 'other' THEN 'another reason' END,
      CASE WHEN e.price_increase = 'pending' THEN 'did not agree to a price'
        WHEN e.auto_renew = 0 THEN 'switched off' ELSE 'charge failed' END) END AS reason,
  count(DISTINCT ended.original_transaction_id) AS subscriptions
FROM ended JOIN entitlement_v1 AS e
  ON e.environment = ended.environment AND e.bundle_id = ended.bundle_id
    AND e.original_transaction_id = ended.original_transaction_id
WHERE e.succeeded_by IS NULL
  AND NOT EXISTS (SELECT 1 FROM transaction_v1 AS next
    WHERE next.environment = ended.environment AND next.bundle_id = ended.bundle_id
      AND next.original_transaction_id = ended.original_transaction_id
      AND next.purchased_at_ms <= ended.ended_at_ms AND next.ended_at_ms > ended.ended_at_ms)
GROUP BY 1 ORDER BY subscriptions DESC, 1
-- postgresql
SELECT reason, count(DISTINCT original_transaction_id) AS subscriptions
FROM (SELECT ended.original_transaction_id,
  CASE WHEN EXISTS (SELECT 1 FROM subledger.transaction_v1 AS later
    WHERE later.environment = ended.environment AND later.bundle_id = ended.bundle_id
      AND later.original_transaction_id = ended.original_transaction_id
      AND later.purchased_at > ended.ended_at
      AND later.ended_at > later.purchased_at) THEN 'came back'
    WHEN e.status = 'billing_retry' THEN 'charge fails, still tried'
    WHEN e.status = 'grace_period' THEN 'charge fails, in grace period'
    WHEN e.status = 'revoked' THEN 'refunded' ELSE coalesce(
      CASE e.expiration_reason WHEN 'cancelled' THEN 'switched off'
        WHEN 'billing' THEN 'charge failed' WHEN 'not_for_sale' THEN 'not for sale'
        WHEN 'price_increase' THEN 'did not agree to a price'
        WHEN 'other' THEN 'another reason' END,
      CASE WHEN e.price_increase = 'pending' THEN 'did not agree to a price'
        WHEN NOT e.auto_renew THEN 'switched off' ELSE 'charge failed' END) END AS reason
FROM subledger.transaction_v1 AS ended JOIN subledger.entitlement_v1 AS e
  ON e.environment = ended.environment AND e.bundle_id = ended.bundle_id
    AND e.original_transaction_id = ended.original_transaction_id
WHERE ended.environment = 'Production' AND coalesce(ended.ownership, 'PURCHASED') = 'PURCHASED'
  AND ended.product_type = 'Auto-Renewable Subscription' AND e.succeeded_by IS NULL
  AND ended.ended_at > ended.purchased_at
  AND ended.ended_at AT TIME ZONE 'UTC' >= CAST(:month || '-01' AS timestamp)
  AND ended.ended_at AT TIME ZONE 'UTC' < CAST(:month || '-01' AS timestamp) + interval '1 month'
  AND NOT EXISTS (SELECT 1 FROM subledger.transaction_v1 AS next
    WHERE next.environment = ended.environment AND next.bundle_id = ended.bundle_id
      AND next.original_transaction_id = ended.original_transaction_id
      AND next.purchased_at <= ended.ended_at AND next.ended_at > ended.ended_at)) AS reasons
GROUP BY reason ORDER BY subscriptions DESC, reason
