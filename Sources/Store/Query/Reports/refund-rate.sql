-- title: How many purchases were refunded, by month and product?
-- Of the paid purchases of each month, those of which something was given back until now, whenever
-- that was, and the share of them in percent.
-- month: month
SELECT month, product_id, count(*) AS purchases, sum(is_back) AS refunds,
  round(100.0 * sum(is_back) / count(*), 1) AS percent
FROM (SELECT strftime('%Y-%m', purchased_at_ms / 1000, 'unixepoch') AS month, product_id,
    coalesce(refunded_milliunits <> 0, revoked_at_ms IS NOT NULL) AS is_back
  FROM transaction_v1
  WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND coalesce(price_milliunits > 0, offer_discount_type IS NOT 'FREE_TRIAL'))
GROUP BY month, product_id ORDER BY month, product_id
-- postgresql
SELECT month, product_id, count(*) AS purchases, count(*) FILTER (WHERE is_back) AS refunds,
  round(100.0 * count(*) FILTER (WHERE is_back) / count(*), 1) AS percent
FROM (SELECT to_char(purchased_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month, product_id,
    coalesce(refunded_milliunits <> 0, revoked_at IS NOT NULL) AS is_back
  FROM subledger.transaction_v1
  WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND coalesce(price_milliunits > 0, offer_discount_type IS DISTINCT FROM 'FREE_TRIAL'))
  AS purchases
GROUP BY month, product_id ORDER BY month, product_id COLLATE "C"
