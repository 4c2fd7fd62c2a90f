-- Both sides by key. Of ours: what customers in Production paid and got back, as Apple's reports have
-- it: by the day in Pacific Time (as since 2007: daylight saving from the second Sunday of March to the
-- first of November, at 2:00), the country's two letters (ISO 3166-1; Kosovo by Apple's code), and the
-- price of one unit; what is no whole number of milliunits for each is split into two prices. A
-- reversal of a refund is a charge. What no event told is null.
COMMIT;

INSERT INTO reported_day
SELECT DISTINCT report, first, first, 0 FROM reported_row WHERE true ON CONFLICT DO NOTHING;

CREATE TEMP TABLE theirs (
  id INTEGER PRIMARY KEY, report, first, last, inside, product, country, currency, is_return, price,
  rest
);
INSERT INTO theirs (
  report, first, last, inside, product, country, currency, is_return, price, rest)
SELECT r.report, r.first, last, inside, product, country, currency, is_return, price, sum(units)
FROM reported_row r JOIN reported_day d ON d.report = r.report AND d.day = r.first
GROUP BY r.report, r.first, last, product, country, currency, is_return, price;

CREATE TEMP TABLE ours (
  id INTEGER PRIMARY KEY, report, first, inside, day, bought, product, country, currency, is_return,
  price, rest, ids, first_seq, last_seq
);
INSERT INTO ours (
  report, first, inside, day, bought, product, country, currency, is_return, price, rest, ids,
  first_seq, last_seq)
WITH country (three, two) AS (VALUES
    ('ABW','AW'), ('AFG','AF'), ('AGO','AO'), ('AIA','AI'), ('ALA','AX'), ('ALB','AL'),
    ('AND','AD'), ('ARE','AE'), ('ARG','AR'), ('ARM','AM'), ('ASM','AS'), ('ATA','AQ'),
    ('ATF','TF'), ('ATG','AG'), ('AUS','AU'), ('AUT','AT'), ('AZE','AZ'), ('BDI','BI'),
    ('BEL','BE'), ('BEN','BJ'), ('BES','BQ'), ('BFA','BF'), ('BGD','BD'), ('BGR','BG'),
    ('BHR','BH'), ('BHS','BS'), ('BIH','BA'), ('BLM','BL'), ('BLR','BY'), ('BLZ','BZ'),
    ('BMU','BM'), ('BOL','BO'), ('BRA','BR'), ('BRB','BB'), ('BRN','BN'), ('BTN','BT'),
    ('BVT','BV'), ('BWA','BW'), ('CAF','CF'), ('CAN','CA'), ('CCK','CC'), ('CHE','CH'),
    ('CHL','CL'), ('CHN','CN'), ('CIV','CI'), ('CMR','CM'), ('COD','CD'), ('COG','CG'),
    ('COK','CK'), ('COL','CO'), ('COM','KM'), ('CPV','CV'), ('CRI','CR'), ('CUB','CU'),
    ('CUW','CW'), ('CXR','CX'), ('CYM','KY'), ('CYP','CY'), ('CZE','CZ'), ('DEU','DE'),
    ('DJI','DJ'), ('DMA','DM'), ('DNK','DK'), ('DOM','DO'), ('DZA','DZ'), ('ECU','EC'),
    ('EGY','EG'), ('ERI','ER'), ('ESH','EH'), ('ESP','ES'), ('EST','EE'), ('ETH','ET'),
    ('FIN','FI'), ('FJI','FJ'), ('FLK','FK'), ('FRA','FR'), ('FRO','FO'), ('FSM','FM'),
    ('GAB','GA'), ('GBR','GB'), ('GEO','GE'), ('GGY','GG'), ('GHA','GH'), ('GIB','GI'),
    ('GIN','GN'), ('GLP','GP'), ('GMB','GM'), ('GNB','GW'), ('GNQ','GQ'), ('GRC','GR'),
    ('GRD','GD'), ('GRL','GL'), ('GTM','GT'), ('GUF','GF'), ('GUM','GU'), ('GUY','GY'),
    ('HKG','HK'), ('HMD','HM'), ('HND','HN'), ('HRV','HR'), ('HTI','HT'), ('HUN','HU'),
    ('IDN','ID'), ('IMN','IM'), ('IND','IN'), ('IOT','IO'), ('IRL','IE'), ('IRN','IR'),
    ('IRQ','IQ'), ('ISL','IS'), ('ISR','IL'), ('ITA','IT'), ('JAM','JM'), ('JEY','JE'),
    ('JOR','JO'), ('JPN','JP'), ('KAZ','KZ'), ('KEN','KE'), ('KGZ','KG'), ('KHM','KH'),
    ('KIR','KI'), ('KNA','KN'), ('KOR','KR'), ('KWT','KW'), ('LAO','LA'), ('LBN','LB'),
    ('LBR','LR'), ('LBY','LY'), ('LCA','LC'), ('LIE','LI'), ('LKA','LK'), ('LSO','LS'),
    ('LTU','LT'), ('LUX','LU'), ('LVA','LV'), ('MAC','MO'), ('MAF','MF'), ('MAR','MA'),
    ('MCO','MC'), ('MDA','MD'), ('MDG','MG'), ('MDV','MV'), ('MEX','MX'), ('MHL','MH'),
    ('MKD','MK'), ('MLI','ML'), ('MLT','MT'), ('MMR','MM'), ('MNE','ME'), ('MNG','MN'),
    ('MNP','MP'), ('MOZ','MZ'), ('MRT','MR'), ('MSR','MS'), ('MTQ','MQ'), ('MUS','MU'),
    ('MWI','MW'), ('MYS','MY'), ('MYT','YT'), ('NAM','NA'), ('NCL','NC'), ('NER','NE'),
    ('NFK','NF'), ('NGA','NG'), ('NIC','NI'), ('NIU','NU'), ('NLD','NL'), ('NOR','NO'),
    ('NPL','NP'), ('NRU','NR'), ('NZL','NZ'), ('OMN','OM'), ('PAK','PK'), ('PAN','PA'),
    ('PCN','PN'), ('PER','PE'), ('PHL','PH'), ('PLW','PW'), ('PNG','PG'), ('POL','PL'),
    ('PRI','PR'), ('PRK','KP'), ('PRT','PT'), ('PRY','PY'), ('PSE','PS'), ('PYF','PF'),
    ('QAT','QA'), ('REU','RE'), ('ROU','RO'), ('RUS','RU'), ('RWA','RW'), ('SAU','SA'),
    ('SDN','SD'), ('SEN','SN'), ('SGP','SG'), ('SGS','GS'), ('SHN','SH'), ('SJM','SJ'),
    ('SLB','SB'), ('SLE','SL'), ('SLV','SV'), ('SMR','SM'), ('SOM','SO'), ('SPM','PM'),
    ('SRB','RS'), ('SSD','SS'), ('STP','ST'), ('SUR','SR'), ('SVK','SK'), ('SVN','SI'),
    ('SWE','SE'), ('SWZ','SZ'), ('SXM','SX'), ('SYC','SC'), ('SYR','SY'), ('TCA','TC'),
    ('TCD','TD'), ('TGO','TG'), ('THA','TH'), ('TJK','TJ'), ('TKL','TK'), ('TKM','TM'),
    ('TLS','TL'), ('TON','TO'), ('TTO','TT'), ('TUN','TN'), ('TUR','TR'), ('TUV','TV'),
    ('TWN','TW'), ('TZA','TZ'), ('UGA','UG'), ('UKR','UA'), ('UMI','UM'), ('URY','UY'),
    ('USA','US'), ('UZB','UZ'), ('VAT','VA'), ('VCT','VC'), ('VEN','VE'), ('VGB','VG'),
    ('VIR','VI'), ('VNM','VN'), ('VUT','VU'), ('WLF','WF'), ('WSM','WS'), ('YEM','YE'),
    ('ZAF','ZA'), ('ZMB','ZM'), ('ZWE','ZW'), ('XKS','XK')
), told AS (
  SELECT 0 AS is_return, purchased_at_ms AS at_ms, NULL AS bought_at_ms,
    price_milliunits AS amount, max(coalesce(quantity, 1), 1) AS units,
    product_id, storefront, currency, transaction_id, first_seq, last_seq
  FROM transaction_v1
  WHERE environment = 'Production' AND coalesce(ownership, 'PURCHASED') = 'PURCHASED'
    AND coalesce(price_milliunits > 0, offer_discount_type IS NOT 'FREE_TRIAL')
  UNION ALL
  SELECT json_extract(r.value, '$.kind') = 'refund', json_extract(r.value, '$.at'),
    purchased_at_ms, json_extract(r.value, '$.milliunits'),
    iif(json_extract(r.value, '$.milliunits') = price_milliunits, max(coalesce(quantity, 1), 1), 1),
    product_id, storefront, currency, transaction_id, first_seq, last_seq
  FROM transaction_v1, json_each(refunds) r
  WHERE environment = 'Production' AND refunds IS NOT NULL
), dated AS (
  SELECT *,
    (at_ms / 1000 - iif(at_ms / 1000 >= unixepoch(strftime('%Y', at_ms / 1000, 'unixepoch') || '-03-08',
        'weekday 0', '+10 hours')
      AND at_ms / 1000 < unixepoch(strftime('%Y', at_ms / 1000, 'unixepoch') || '-11-01',
        'weekday 0', '+9 hours'), 25200, 28800)) / 86400 AS day,
    iif(is_return, (bought_at_ms / 1000 - iif(bought_at_ms / 1000 >= unixepoch(strftime('%Y', bought_at_ms / 1000, 'unixepoch') || '-03-08',
        'weekday 0', '+10 hours')
      AND bought_at_ms / 1000 < unixepoch(strftime('%Y', bought_at_ms / 1000, 'unixepoch') || '-11-01',
        'weekday 0', '+9 hours'), 25200, 28800)) / 86400, NULL) AS bought
  FROM told LEFT JOIN country ON three = storefront
  WHERE at_ms BETWEEN (SELECT min(day) FROM reported_day) * 86400000
    AND (SELECT max(day) + 2 FROM reported_day) * 86400000
), priced AS (
  SELECT *, amount / units AS price, units - coalesce(amount % units, 0) AS some FROM dated
  UNION ALL
  SELECT *, amount / units + 1, amount % units FROM dated WHERE amount % units > 0
)
SELECT d.report, d.first, d.inside, p.day, bought,
  coalesce(product_id, '') AS product, coalesce(two, storefront) AS country, currency, is_return,
  price, sum(some) AS rest, group_concat(transaction_id, ' ') AS ids, min(first_seq) AS first_seq,
  max(last_seq) AS last_seq
FROM priced p JOIN reported_day d ON d.day = p.day
GROUP BY d.report, d.first, p.day, bought, coalesce(product_id, ''), coalesce(two, storefront),
  currency, is_return, price;

CREATE TEMP TABLE pair (pass INTEGER, our INTEGER, their INTEGER, units INTEGER, reason TEXT);

-- What of ours may be the same as theirs, and why both differ then, in the order in which pairs are
-- made: on the same day at the same price, else rounded to the nearest cent, else to the other one; on
-- the day after or before; a refund on the day of the purchase; at last what nobody told the price of.
CREATE TEMP VIEW candidate AS
SELECT 1 AS pass, NULL AS reason, id, report, day AS at, product, is_return, rest,
  country || ' ' || currency || ' ' || price AS key FROM ours
UNION ALL SELECT 2, 'price rounding', id, report, day, product, is_return, rest,
  country || ' ' || currency || ' ' || ((price + 5) / 10 * 10) FROM ours WHERE price % 10 <> 0
UNION ALL SELECT 3, 'price rounding', id, report, day, product, is_return, rest,
  country || ' ' || currency || ' ' || (price / 10 * 10 + iif(price % 10 < 5, 10, 0))
  FROM ours WHERE price % 10 <> 0
UNION ALL SELECT 4, 'later day', id, report, day + 1, product, is_return, rest,
  country || ' ' || currency || ' ' || price FROM ours WHERE inside
UNION ALL SELECT 5, 'later day', id, report, day - 1, product, is_return, rest,
  country || ' ' || currency || ' ' || price FROM ours WHERE inside
UNION ALL SELECT 6, 'later day', id, report, bought, product, is_return, rest,
  country || ' ' || currency || ' ' || price FROM ours WHERE inside
UNION ALL SELECT 7, 'not in notifications', id, report, day, product, is_return, rest, ''
  FROM ours WHERE country || currency || price IS NULL;

CREATE INDEX temp.their_place ON theirs (report, first, product, country, is_return);
CREATE INDEX temp.our_place ON ours (report, first, product, country, is_return);
