SELECT report, currency, sum(our_units) AS our_units, sum(their_units) AS their_units,
  sum(ours) / 1000.0 AS ours, sum(theirs) / 1000.0 AS theirs,
  sum(ours - theirs) / 1000.0 AS difference, reason
FROM temp.line GROUP BY report, currency, reason ORDER BY report, currency, reason
