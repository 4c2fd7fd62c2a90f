-- title: What was charged, by month and currency?
-- month: month
SELECT strftime('%Y-%m', day * 86400, 'unixepoch') AS month, currency,
  sum(purchases) AS purchases, sum(amount) / 1000.0 AS charged, sum(unknown) AS without_price
FROM (SELECT purchased_at_ms / 86400000 AS day, currency, count(*) AS purchases,
    coalesce(sum(price_milliunits), 0) AS amount, sum(price_milliunits IS NULL) AS unknown
  FROM transaction_v1
  WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND coalesce(price_milliunits > 0, offer_discount_type IS NOT 'FREE_TRIAL')
  GROUP BY day, currency)
GROUP BY month, currency ORDER BY month, currency NULLS LAST
-- postgresql
SELECT to_char(purchased_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month, currency,
  count(*) AS purchases, coalesce(sum(price_milliunits), 0) / 1000.0 AS charged,
  count(*) FILTER (WHERE price_milliunits IS NULL) AS without_price
FROM subledger.transaction_v1
WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
  AND coalesce(price_milliunits > 0, offer_discount_type IS DISTINCT FROM 'FREE_TRIAL')
GROUP BY month, currency ORDER BY month, currency NULLS LAST
