-- One line for each key and reason. What both sides have on two days is two lines. Where each side
-- has something left of a product in a country on a day, they contradict each other.
CREATE TEMP TABLE line AS
WITH ended (report, last) AS (
  SELECT report, max(day) FROM reported_day WHERE inside GROUP BY report
), told AS (
  SELECT t.report, t.first, t.last, t.product, t.country, t.currency, t.is_return, t.price,
    iif(o.inside AND t.inside, p.reason, 'not in the file''s days') AS reason,
    iif(o.inside AND o.first = t.first, p.units, 0) AS our_units,
    iif(o.inside AND o.first = t.first, p.units, 0) * coalesce(o.price, 0) AS ours,
    p.units AS their_units, p.units * t.price AS theirs, p.our
  FROM pair p JOIN ours o ON o.id = p.our JOIN theirs t ON t.id = p.their
  UNION ALL
  SELECT o.report, o.day, o.day, o.product, o.country, o.currency, o.is_return, o.price,
    iif(t.inside, p.reason, 'not in the file''s days'), p.units, p.units * coalesce(o.price, 0),
    0, 0, p.our
  FROM pair p JOIN ours o ON o.id = p.our JOIN theirs t ON t.id = p.their
  WHERE o.inside AND o.first <> t.first
  UNION ALL
  SELECT o.report, o.day, o.day, o.product, o.country, o.currency, o.is_return, o.price,
    CASE WHEN o.report = 'sales' OR EXISTS (
        SELECT 1 FROM theirs t
        WHERE t.report = o.report AND t.first = o.first AND t.product = o.product
          AND t.country = o.country AND t.is_return = o.is_return AND t.rest <> 0)
      THEN 'unexplained'
      -- Apple tries for 60 days to collect a charge that failed.
      WHEN o.day + 60 < ended.last THEN 'not collected' ELSE 'not yet settled' END,
    o.rest, o.rest * coalesce(o.price, 0), 0, 0, o.id
  FROM ours o JOIN ended USING (report) WHERE o.rest > 0 AND o.inside
  UNION ALL
  SELECT t.report, t.first, t.last, t.product, t.country, t.currency, t.is_return, t.price,
    iif(t.rest < 0 OR EXISTS (
        SELECT 1 FROM ours o
        WHERE o.report = t.report AND o.first = t.first AND o.product = t.product
          AND o.country = t.country AND o.is_return = t.is_return AND o.rest > 0 AND o.inside),
      'unexplained', 'not in notifications'),
    0, 0, t.rest, t.rest * t.price, NULL
  FROM theirs t WHERE t.rest <> 0
)
SELECT told.report, told.first, last, told.product, told.country, told.currency, told.is_return,
  told.price, reason, sum(our_units) AS our_units, sum(their_units) AS their_units,
  sum(iif(told.is_return, -told.ours, told.ours)) AS ours,
  sum(iif(told.is_return, -theirs, theirs)) AS theirs,
  replace(group_concat(DISTINCT ids), ',', ' ') AS transaction_ids, min(first_seq) AS first_seq,
  max(last_seq) AS last_seq
FROM told LEFT JOIN ours o ON o.id = our
GROUP BY told.report, told.first, last, told.product, told.country, told.currency, told.is_return,
  told.price, reason;
