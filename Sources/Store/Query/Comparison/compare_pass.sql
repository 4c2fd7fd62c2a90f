-- Pairs units that are left of both sides and have the same key: the units of each side in a row, and
-- what lies at the same place is one pair.
INSERT INTO pair
WITH o AS (
  SELECT c.id, c.reason, c.report, d.first, product, is_return, key, rest,
    sum(rest) OVER (
      PARTITION BY c.report, d.first, product, is_return, key ORDER BY c.id) AS upto
  FROM candidate c JOIN reported_day d ON d.report = c.report AND d.day = c.at
  WHERE pass = {pass} AND rest > 0 AND key IS NOT NULL
), t AS (
  SELECT *, sum(rest) OVER (PARTITION BY report, first, product, is_return, key ORDER BY id) AS upto
  FROM (SELECT id, report, first, product, is_return, rest,
      iif({pass} < 7, country || ' ' || currency || ' ' || price, '') AS key
    FROM theirs WHERE rest > 0)
)
SELECT {pass}, o.id, t.id, min(o.upto, t.upto) - max(o.upto - o.rest, t.upto - t.rest), reason
FROM o JOIN t USING (report, first, product, is_return, key)
WHERE min(o.upto, t.upto) > max(o.upto - o.rest, t.upto - t.rest);

UPDATE ours SET rest = rest - used
FROM (SELECT our, sum(units) AS used FROM pair WHERE pass = {pass} GROUP BY our) WHERE our = id;

UPDATE theirs SET rest = rest - used
FROM (SELECT their, sum(units) AS used FROM pair WHERE pass = {pass} GROUP BY their) WHERE their = id;
