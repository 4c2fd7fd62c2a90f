-- title: What is at risk because a charge fails?
-- At the price that Apple says for the renewal, else the last one (at_last_price).
SELECT status, coalesce(renewal_currency, currency) AS currency,
  count(*) AS subscriptions,
  sum(coalesce(renewal_price_milliunits, price_milliunits)) / 1000.0 AS amount,
  sum(renewal_price_milliunits IS NULL AND price_milliunits IS NOT NULL) AS at_last_price,
  sum(coalesce(renewal_price_milliunits, price_milliunits) IS NULL) AS without_price
FROM entitlement_v1
WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
  AND status IN ('grace_period', 'billing_retry')
GROUP BY 1, 2 ORDER BY 1, 2 NULLS LAST
-- postgresql
SELECT status, coalesce(renewal_currency, currency) AS currency, count(*) AS subscriptions,
  sum(coalesce(renewal_price_milliunits, price_milliunits)) / 1000.0 AS amount,
  count(*) FILTER (WHERE renewal_price_milliunits IS NULL AND price_milliunits IS NOT NULL)
    AS at_last_price,
  count(*) FILTER (WHERE coalesce(renewal_price_milliunits, price_milliunits) IS NULL)
    AS without_price
FROM subledger.entitlement_v1
WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
  AND status IN ('grace_period', 'billing_retry')
GROUP BY 1, 2 ORDER BY 1, 2 NULLS LAST
