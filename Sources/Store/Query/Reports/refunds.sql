-- title: What was refunded, by the month of the refund and of the purchase?
-- A reversal is in its own month, where it takes off what was given back before.
-- month: refunded_in
SELECT strftime('%Y-%m', at_ms / 1000, 'unixepoch') AS refunded_in,
  strftime('%Y-%m', purchased_at_ms / 1000, 'unixepoch') AS bought_in, currency,
  sum(kind = 'refund') AS refunds,
  coalesce(sum(iif(kind = 'refund', milliunits, -milliunits)), 0) / 1000.0 AS refunded,
  sum(kind = 'reversal') AS reversals, sum(milliunits IS NULL) AS unknown
FROM refund_v1 WHERE environment = 'Production'
GROUP BY refunded_in, bought_in, currency
ORDER BY refunded_in, bought_in, currency NULLS LAST
-- postgresql
SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM') AS refunded_in,
  to_char(purchased_at AT TIME ZONE 'UTC', 'YYYY-MM') AS bought_in, currency,
  count(*) FILTER (WHERE kind = 'refund') AS refunds,
  coalesce(sum(CASE kind WHEN 'refund' THEN milliunits ELSE -milliunits END), 0) / 1000.0
    AS refunded,
  count(*) FILTER (WHERE kind = 'reversal') AS reversals,
  count(*) FILTER (WHERE milliunits IS NULL) AS unknown
FROM subledger.refund_v1 WHERE environment = 'Production'
GROUP BY refunded_in, bought_in, currency
ORDER BY refunded_in, bought_in, currency NULLS LAST
