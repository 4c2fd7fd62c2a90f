-- title: What do running subscriptions bring in a month, by currency?
-- Of each paid subscription that runs on the day, the price of the period that runs, as a share for
-- 30.4375 days (a year of 365.25 has twelve of them). Free trials are not counted.
-- parameter: day
SELECT currency, count(*) AS subscriptions,
  round(sum(price_milliunits * 2629800000.0 / length) / 1000, 2) AS monthly,
  sum(price_milliunits IS NULL) AS without_price
FROM (SELECT currency, price_milliunits, expires_at_ms - purchased_at_ms AS length,
    max(purchased_at_ms)
  FROM transaction_v1
  WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND product_type = 'Auto-Renewable Subscription'
    AND purchased_at_ms <= unixepoch(:day) * 1000 AND ended_at_ms > unixepoch(:day) * 1000
    AND coalesce(price_milliunits > 0, offer_discount_type IS NOT 'FREE_TRIAL')
  GROUP BY bundle_id, original_transaction_id)
GROUP BY currency ORDER BY currency NULLS LAST
-- postgresql
SELECT currency, count(*) AS subscriptions,
  round(sum(price_milliunits * 2629800 / length) / 1000, 2) AS monthly,
  count(*) FILTER (WHERE price_milliunits IS NULL) AS without_price
FROM (SELECT DISTINCT ON (bundle_id, original_transaction_id) currency, price_milliunits,
    extract(epoch FROM expires_at - purchased_at) AS length
  FROM subledger.transaction_v1
  WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND product_type = 'Auto-Renewable Subscription'
    AND purchased_at <= CAST(:day AS timestamp) AT TIME ZONE 'UTC'
    AND ended_at > CAST(:day AS timestamp) AT TIME ZONE 'UTC'
    AND coalesce(price_milliunits > 0, offer_discount_type IS DISTINCT FROM 'FREE_TRIAL')
  ORDER BY bundle_id, original_transaction_id, purchased_at DESC) AS running
GROUP BY currency ORDER BY currency NULLS LAST
