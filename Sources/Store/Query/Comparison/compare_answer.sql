SELECT report, date(first * 86400, 'unixepoch') AS first_day,
  date(last * 86400, 'unixepoch') AS last_day, product AS product_id, country,
  iif(is_return, 'return', 'sale') AS kind, price / 1000.0 AS price, currency, our_units,
  their_units, ours / 1000.0 AS ours, theirs / 1000.0 AS theirs,
  (ours - theirs) / 1000.0 AS difference, reason{more}
FROM temp.line
WHERE reason IS {only}
ORDER BY report, first, last, product, country, currency, is_return, line.price, reason
