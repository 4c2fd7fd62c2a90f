-- title: Who changed the product, from which to which?
-- An upgrade ends the purchase before at once; another change begins with a renewal, or after a
-- lapse. What was charged ahead and replaced before it began is left out.
-- month: month
WITH changed AS MATERIALIZED (
  SELECT bundle_id, original_transaction_id FROM transaction_v1
  WHERE environment = 'Production' AND product_type = 'Auto-Renewable Subscription'
  GROUP BY original_transaction_id, bundle_id HAVING min(product_id) <> max(product_id))
SELECT strftime('%Y-%m', purchased_at_ms / 1000, 'unixepoch') AS month,
  iif(is_replaced, 'upgrade', 'at renewal') AS kind, before, product_id AS after,
  count(*) AS changes
FROM (SELECT purchased_at_ms, product_id, lag(product_id) OVER purchases AS before,
    lag(replaced_by) OVER purchases IS NOT NULL AS is_replaced
  FROM changed CROSS JOIN transaction_v1 USING (bundle_id, original_transaction_id)
  WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND product_type = 'Auto-Renewable Subscription' AND ended_at_ms > purchased_at_ms
  WINDOW purchases AS (
    PARTITION BY original_transaction_id ORDER BY purchased_at_ms, transaction_id))
WHERE before <> product_id
GROUP BY month, kind, before, after ORDER BY month, kind, before, after
-- postgresql
SELECT to_char(purchased_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month,
  CASE WHEN is_replaced THEN 'upgrade' ELSE 'at renewal' END AS kind, before,
  product_id AS after, count(*) AS changes
FROM (SELECT purchased_at, product_id, lag(product_id) OVER purchases AS before,
    lag(replaced_by) OVER purchases IS NOT NULL AS is_replaced
  FROM subledger.transaction_v1
  WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND product_type = 'Auto-Renewable Subscription' AND ended_at > purchased_at
  WINDOW purchases AS (
    PARTITION BY original_transaction_id
    ORDER BY purchased_at, transaction_id COLLATE "C")) AS changes
WHERE before <> product_id
GROUP BY month, kind, before, after ORDER BY month, kind, before, after
