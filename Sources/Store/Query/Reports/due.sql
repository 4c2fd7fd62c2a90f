-- title: Which renewals are due in the next 30 days, and at what price?
-- By what Apple says of the next renewal: after a downgrade, an increase, an offer or a free trial
-- it is another price. Where Apple does not say it, that of the period that runs (at_last_price
-- counts these), and after a trial it is not known. A plan of a week is due again each week; the
-- last payment of a commitment is not.
WITH RECURSIVE due (expires_at_ms, period, currency, amount, is_last_price) AS (
  SELECT expires_at_ms, iif(offer_discount_type IS 'FREE_TRIAL'
        OR pending_product_id IS NOT NULL OR commitment_periods IS NOT NULL, NULL,
      expires_at_ms - starts_at_ms),
    coalesce(renewal_currency, currency), coalesce(renewal_price_milliunits,
      iif(offer_discount_type IS 'FREE_TRIAL', NULL, price_milliunits)),
    renewal_price_milliunits IS NULL AND offer_discount_type IS NOT 'FREE_TRIAL'
  FROM entitlement_v1
  WHERE environment = 'Production' AND status = 'active' AND auto_renew = 1
    AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND coalesce(commitment_period < commitment_periods OR commitment_auto_renew, 1)
    AND expires_at_ms < (unixepoch() + 30 * 86400) * 1000
  UNION ALL
  SELECT expires_at_ms + period, period, currency, amount, is_last_price FROM due
  WHERE period >= 86400000 AND expires_at_ms + period < (unixepoch() + 30 * 86400) * 1000)
SELECT date(expires_at_ms / 1000, 'unixepoch') AS day, currency, count(*) AS renewals,
  sum(amount) / 1000.0 AS amount, sum(is_last_price) AS at_last_price,
  sum(amount IS NULL) AS without_price
FROM due GROUP BY 1, 2 ORDER BY 1, 2 NULLS LAST
-- postgresql
SELECT (to_timestamp(at / 1000.0) AT TIME ZONE 'UTC')::date AS day,
  coalesce(renewal_currency, currency) AS currency, count(*) AS renewals,
  sum(amount) / 1000.0 AS amount, count(*) FILTER (WHERE is_last_price) AS at_last_price,
  count(*) FILTER (WHERE amount IS NULL) AS without_price
FROM (SELECT *, extract(epoch FROM now() + interval '30 days') * 1000 AS until,
    coalesce(renewal_price_milliunits, CASE WHEN offer_discount_type
      IS DISTINCT FROM 'FREE_TRIAL' THEN price_milliunits END) AS amount,
    renewal_price_milliunits IS NULL
      AND offer_discount_type IS DISTINCT FROM 'FREE_TRIAL' AS is_last_price,
    CASE WHEN offer_discount_type IS DISTINCT FROM 'FREE_TRIAL'
      AND pending_product_id IS NULL AND commitment_periods IS NULL
      AND expires_at_ms - starts_at_ms >= 86400000 THEN expires_at_ms - starts_at_ms
      ELSE 4000000000000 END AS period
  FROM subledger.entitlement_v1
  WHERE environment = 'Production' AND status = 'active' AND auto_renew
    AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND coalesce(commitment_period < commitment_periods OR commitment_auto_renew, true)
    AND expires_at_ms < extract(epoch FROM now() + interval '30 days') * 1000) AS due,
  generate_series(expires_at_ms, ceil(until)::bigint - 1, period) AS at
GROUP BY 1, 2 ORDER BY 1, 2 NULLS LAST
