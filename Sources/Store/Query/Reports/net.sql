-- title: What is left, by month?
-- Charges in the month they were made, refunds and reversals in theirs. What was charged ahead and
-- replaced before it began is left out: Apple gives it back whole.
-- month: month
SELECT strftime('%Y-%m', day * 86400, 'unixepoch') AS month, currency,
  sum(amount) / 1000.0 AS net, sum(unknown) AS without_price
FROM (SELECT purchased_at_ms / 86400000 AS day, currency,
      coalesce(sum(price_milliunits), 0) AS amount, sum(price_milliunits IS NULL) AS unknown
    FROM transaction_v1
    WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
      AND coalesce(price_milliunits > 0, offer_discount_type IS NOT 'FREE_TRIAL')
      AND coalesce(ended_at_ms > purchased_at_ms OR refunded_milliunits <> 0, 1)
    GROUP BY day, currency
  UNION ALL
  SELECT at_ms / 86400000 AS day, currency,
      coalesce(sum(iif(kind = 'refund', -milliunits, milliunits)), 0),
      sum(milliunits IS NULL)
    FROM refund_v1 WHERE environment = 'Production' GROUP BY day, currency)
GROUP BY month, currency ORDER BY month, currency NULLS LAST
-- postgresql
SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM') AS month, currency,
  coalesce(sum(amount), 0) / 1000.0 AS net,
  count(*) FILTER (WHERE amount IS NULL) AS without_price
FROM (SELECT purchased_at AS at, currency, price_milliunits AS amount
    FROM subledger.transaction_v1
    WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
      AND coalesce(price_milliunits > 0, offer_discount_type IS DISTINCT FROM 'FREE_TRIAL')
      AND coalesce(ended_at > purchased_at OR refunded_milliunits <> 0, true)
  UNION ALL
  SELECT at, currency, CASE kind WHEN 'refund' THEN -milliunits ELSE milliunits END
    FROM subledger.refund_v1 WHERE environment = 'Production') AS amounts
GROUP BY month, currency ORDER BY month, currency NULLS LAST
