-- title: What did one customer pay, and get back?
-- All purchases with an appAccountToken, in lower case.
-- parameter: customer
SELECT currency, count(*) AS purchases, sum(price_milliunits) / 1000.0 AS charged,
  sum(refunded_milliunits) / 1000.0 AS refunded,
  sum(price_milliunits IS NULL OR refunded_milliunits IS NULL) AS without_price
FROM transaction_v1
WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
  AND app_account_token = :customer
GROUP BY currency ORDER BY currency NULLS LAST
-- postgresql
SELECT currency, count(*) AS purchases, sum(price_milliunits) / 1000.0 AS charged,
  sum(refunded_milliunits) / 1000.0 AS refunded,
  count(*) FILTER (WHERE price_milliunits IS NULL OR refunded_milliunits IS NULL)
    AS without_price
FROM subledger.transaction_v1
WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
  AND app_account_token = :customer
GROUP BY currency ORDER BY currency NULLS LAST
