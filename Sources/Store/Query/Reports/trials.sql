-- title: How many free trials began in each month, and how many of these customers paid?
-- paid_later is a purchase after the trial that is no free offer, with or without a price;
-- paid_back those whose first payment was given back, a_year_later those whose first payment came
-- more than a year after the trial, running those whose trial still runs.
-- month: month
WITH trial AS MATERIALIZED (
  SELECT bundle_id, original_transaction_id, min(purchased_at_ms) AS began,
    ended_at_ms AS ended
  FROM transaction_v1
  WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND offer_discount_type = 'FREE_TRIAL'
  GROUP BY bundle_id, original_transaction_id)
SELECT strftime('%Y-%m', began / 1000, 'unixepoch') AS month, count(*) AS trials,
  sum(bought IS NOT NULL AND NOT is_back AND NOT is_late) AS paid_later,
  sum(is_back AND NOT is_late) AS paid_back, sum(is_late) AS a_year_later,
  sum(bought IS NULL AND coalesce(ended > unixepoch() * 1000, 1)) AS running
FROM (SELECT began, ended, min(bought) AS bought, is_back, is_late
  FROM (SELECT bundle_id, original_transaction_id, began, ended, NULL AS bought,
      0 AS is_back, 0 AS is_late
    FROM trial
    UNION ALL
    SELECT trial.bundle_id, trial.original_transaction_id, began, ended,
      paid.purchased_at_ms,
      coalesce(paid.refunded_milliunits, 1) <> 0 AND paid.revoked_at_ms IS NOT NULL,
      coalesce(paid.purchased_at_ms > ended + 365 * 86400000, 0)
    FROM trial CROSS JOIN transaction_v1 AS paid
    WHERE paid.environment = 'Production' AND paid.bundle_id = trial.bundle_id
      AND paid.original_transaction_id = trial.original_transaction_id
      AND paid.purchased_at_ms > began AND coalesce(paid.price_milliunits > 0, 1)
      AND paid.offer_discount_type IS NOT 'FREE_TRIAL')
  GROUP BY bundle_id, original_transaction_id)
GROUP BY month ORDER BY month
-- postgresql
SELECT to_char(began AT TIME ZONE 'UTC', 'YYYY-MM') AS month, count(*) AS trials,
  count(*) FILTER (WHERE is_paid AND NOT is_back AND NOT is_late) AS paid_later,
  count(*) FILTER (WHERE is_back AND NOT is_late) AS paid_back,
  count(*) FILTER (WHERE is_late) AS a_year_later,
  count(*) FILTER (WHERE NOT is_paid AND coalesce(ended > now(), true)) AS running
FROM (SELECT trial.began, trial.ended, paid.purchased_at IS NOT NULL AS is_paid,
    coalesce(paid.refunded_milliunits, 1) <> 0 AND paid.revoked_at IS NOT NULL AS is_back,
    coalesce(paid.purchased_at > trial.ended + interval '365 days', false) AS is_late
  FROM (SELECT DISTINCT ON (bundle_id, original_transaction_id) bundle_id,
      original_transaction_id, purchased_at AS began, ended_at AS ended
    FROM subledger.transaction_v1
    WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
      AND offer_discount_type = 'FREE_TRIAL'
    ORDER BY bundle_id, original_transaction_id, purchased_at) AS trial
  LEFT JOIN LATERAL (SELECT purchased_at, refunded_milliunits, revoked_at
    FROM subledger.transaction_v1 AS first
    WHERE first.environment = 'Production' AND first.bundle_id = trial.bundle_id
      AND first.original_transaction_id = trial.original_transaction_id
      AND first.purchased_at > trial.began AND coalesce(first.price_milliunits > 0, true)
      AND first.offer_discount_type IS DISTINCT FROM 'FREE_TRIAL'
    ORDER BY first.purchased_at LIMIT 1) AS paid ON true) AS customers
GROUP BY month ORDER BY month
