-- title: How many free trials began on each day, by product?
-- month: day
SELECT date(purchased_at_ms / 1000, 'unixepoch') AS day, product_id, count(*) AS trials
FROM transaction_v1
WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
  AND offer_discount_type = 'FREE_TRIAL'
GROUP BY day, product_id ORDER BY day, product_id
-- postgresql
SELECT to_char(purchased_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, product_id,
  count(*) AS trials
FROM subledger.transaction_v1
WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
  AND offer_discount_type = 'FREE_TRIAL'
GROUP BY day, product_id ORDER BY day, product_id COLLATE "C"
