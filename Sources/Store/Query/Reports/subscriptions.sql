-- title: How many subscriptions ran on a day, by product?
-- parameter: day
SELECT product_id, count(DISTINCT original_transaction_id) AS subscriptions
FROM transaction_v1
WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
  AND product_type = 'Auto-Renewable Subscription'
  AND purchased_at_ms <= unixepoch(:day) * 1000
  AND ended_at_ms > unixepoch(:day) * 1000
GROUP BY product_id ORDER BY subscriptions DESC, product_id
-- postgresql
SELECT product_id, count(DISTINCT original_transaction_id) AS subscriptions
FROM subledger.transaction_v1
WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
  AND product_type = 'Auto-Renewable Subscription'
  AND purchased_at <= CAST(:day AS timestamp) AT TIME ZONE 'UTC'
  AND ended_at > CAST(:day AS timestamp) AT TIME ZONE 'UTC'
GROUP BY product_id ORDER BY subscriptions DESC, product_id
