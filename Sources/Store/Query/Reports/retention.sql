-- title: How many subscribers stay, by the month of their first payment?
-- after_30 are those who still have a subscription 30 days after their first payment began, and so
-- on; a lapse in between does not matter. Empty until the last of the month has been here so long.
-- month: month
WITH first AS MATERIALIZED (
  SELECT bundle_id, original_transaction_id, min(purchased_at_ms) AS began
  FROM transaction_v1
  WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND product_type = 'Auto-Renewable Subscription' AND ended_at_ms > purchased_at_ms
    AND coalesce(price_milliunits > 0, offer_discount_type IS NOT 'FREE_TRIAL')
  GROUP BY bundle_id, original_transaction_id)
SELECT strftime('%Y-%m', began / 1000, 'unixepoch') AS month, count(*) AS subscribers,
  iif(max(began) + 30 * 86400000 <= unixepoch() * 1000, sum(day_30), NULL) AS after_30,
  iif(max(began) + 90 * 86400000 <= unixepoch() * 1000, sum(day_90), NULL) AS after_90,
  iif(max(began) + 180 * 86400000 <= unixepoch() * 1000, sum(day_180), NULL) AS after_180,
  iif(max(began) + 365 * 86400000 <= unixepoch() * 1000, sum(day_365), NULL) AS after_365
FROM (SELECT began,
    max(purchased_at_ms <= began + 30 * 86400000 AND ended_at_ms > began + 30 * 86400000)
      AS day_30,
    max(purchased_at_ms <= began + 90 * 86400000 AND ended_at_ms > began + 90 * 86400000)
      AS day_90,
    max(purchased_at_ms <= began + 180 * 86400000 AND ended_at_ms > began + 180 * 86400000)
      AS day_180,
    max(purchased_at_ms <= began + 365 * 86400000 AND ended_at_ms > began + 365 * 86400000)
      AS day_365
  FROM first CROSS JOIN transaction_v1 USING (bundle_id, original_transaction_id)
  WHERE environment = 'Production' AND ended_at_ms > purchased_at_ms
  GROUP BY bundle_id, original_transaction_id)
GROUP BY month ORDER BY month
-- postgresql
SELECT to_char(began AT TIME ZONE 'UTC', 'YYYY-MM') AS month, count(*) AS subscribers,
  CASE WHEN max(began) + interval '720 hours' <= now()
    THEN count(*) FILTER (WHERE day_30) END AS after_30,
  CASE WHEN max(began) + interval '2160 hours' <= now()
    THEN count(*) FILTER (WHERE day_90) END AS after_90,
  CASE WHEN max(began) + interval '4320 hours' <= now()
    THEN count(*) FILTER (WHERE day_180) END AS after_180,
  CASE WHEN max(began) + interval '8760 hours' <= now()
    THEN count(*) FILTER (WHERE day_365) END AS after_365
FROM (SELECT began,
    bool_or(purchased_at <= began + interval '720 hours'
      AND ended_at > began + interval '720 hours') AS day_30,
    bool_or(purchased_at <= began + interval '2160 hours'
      AND ended_at > began + interval '2160 hours') AS day_90,
    bool_or(purchased_at <= began + interval '4320 hours'
      AND ended_at > began + interval '4320 hours') AS day_180,
    bool_or(purchased_at <= began + interval '8760 hours'
      AND ended_at > began + interval '8760 hours') AS day_365
  FROM (SELECT bundle_id, original_transaction_id, min(purchased_at) AS began
      FROM subledger.transaction_v1
      WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
        AND product_type = 'Auto-Renewable Subscription' AND ended_at > purchased_at
        AND coalesce(price_milliunits > 0, offer_discount_type IS DISTINCT FROM 'FREE_TRIAL')
      GROUP BY bundle_id, original_transaction_id) AS first
    JOIN subledger.transaction_v1 AS line USING (bundle_id, original_transaction_id)
  WHERE line.environment = 'Production' AND line.ended_at > line.purchased_at
  GROUP BY bundle_id, original_transaction_id, began) AS subscribers
GROUP BY month ORDER BY month
