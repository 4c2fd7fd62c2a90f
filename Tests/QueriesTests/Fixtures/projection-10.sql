-- A projection as the program with fold version 2 wrote it: the dump of
-- its entitlements-2.sqlite after it ingested the notifications of OlderLayoutTests.
PRAGMA application_id=1398096453;
PRAGMA user_version=10;
BEGIN TRANSACTION;
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('digest',X'87686e702a1f5df331b3e3d768868e68b3acddf3bbdaf4701ed198325b92e850');
INSERT INTO meta VALUES('evaluated_at',1795675639824);
INSERT INTO meta VALUES('fingerprint',X'3037636666333635303933633936666131633163326261663830303663643762');
INSERT INTO meta VALUES('fold_version',2);
INSERT INTO meta VALUES('folded_through',7);
INSERT INTO meta VALUES('hash',X'43c416e8cd795d630f76a083718983cf390f1a588c8ee2f2a08a744358aff71a');
INSERT INTO meta VALUES('journal_id',X'6ec3430ac45ede71358173da986bc70f');
CREATE TABLE app (
  id INTEGER PRIMARY KEY,
  environment TEXT NOT NULL,
  bundle_id TEXT NOT NULL,
  UNIQUE (bundle_id, environment)
) STRICT;
INSERT INTO app VALUES(1,'Production','com.example.app');
CREATE TABLE row_status (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  gives_access INTEGER NOT NULL
) STRICT;
INSERT INTO row_status VALUES(0,'active',1);
INSERT INTO row_status VALUES(1,'grace_period',1);
INSERT INTO row_status VALUES(2,'billing_retry',0);
INSERT INTO row_status VALUES(3,'expired',0);
INSERT INTO row_status VALUES(4,'revoked',0);
INSERT INTO row_status VALUES(5,'active',0);
INSERT INTO row_status VALUES(6,'grace_period',0);
CREATE TABLE product (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  product_id TEXT,
  product_type TEXT,
  subscription_group_id TEXT,
  ownership TEXT
) STRICT;
INSERT INTO product VALUES(1,1,'pro.monthly','Auto-Renewable Subscription','21400001','PURCHASED');
INSERT INTO product VALUES(2,1,'pro.monthly','Non-Consumable','21400001','PURCHASED');
CREATE TABLE offer (
  id INTEGER PRIMARY KEY,
  type INTEGER NOT NULL,
  identifier TEXT,
  discount_type TEXT,
  period TEXT
) STRICT;
CREATE TABLE duration (
  product_id TEXT PRIMARY KEY,
  milliseconds INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE entitlement (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL,
  original_transaction_id TEXT NOT NULL,
  answer_status INTEGER,
  answer_product INTEGER,
  answer_from_ms INTEGER,
  answer_until_ms INTEGER,
  checksum INTEGER NOT NULL,
  event_count INTEGER NOT NULL,
  last_seq INTEGER,
  last_uuid BLOB,
  last_type TEXT,
  last_subtype TEXT,
  last_signed_date_ms INTEGER,
  auto_renew INTEGER,
  renewal_product_id TEXT,
  grace_period_expires_at_ms INTEGER,
  price_increase INTEGER,
  commitment_auto_renew INTEGER,
  revoked_at_ms INTEGER,
  lasting_product_id TEXT,
  lasting_from_ms INTEGER,
  app_account_token TEXT,
  app_transaction_id TEXT,
  previous_original_transaction_id TEXT,
  broken TEXT,
  anomaly INTEGER NOT NULL,
  spans BLOB NOT NULL,
  state BLOB NOT NULL
) STRICT;
INSERT INTO entitlement VALUES(1,1,'7002',3,1,1769817840000,NULL,8166415274166510196,1,5,X'5e5e0000000040008000000000000004','DID_RENEW',NULL,1767225840000,1,'pro.monthly',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'6999',NULL,0,X'0026d2106280ebdf8db7339aeddf1780c894fd09ac3d458e',X'92026012008d0300b40302015e5e0000000040008000040080c6f20437303032010b020180a0f6a70102010204363939390205373030323400000008323131000000010000130024a3008872509455ae1f11461fe40c2500129668001dde5a338b8711f011099c8bb6600ee07adc540328d6a501f2de162401');
INSERT INTO entitlement VALUES(2,1,'7003',3,1,1772409600000,NULL,7183303834710146492,2,7,X'5e5e0000000040008000000000000006','DID_RENEW',NULL,1767225960000,1,'basic.monthly',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,X'000f08cced80f5ac8fb733b7e7b4f5e092cbfb09c7db07ada0e8e8d30930e9b07e',X'97036097001d0500240704015e5e00000000400080000600809981eeee6601c0eff9edee66010437303033010b0d6261736963020180a0f6a7050106020000000405373030333580da8cf1ee6601c0b5e3a413bfea9203000000000832313100000001000036c08ff095826701c0d0d1a713bff6eea7130601000000100014c3525898d01ea3588672509255ae1e11461e925007ccd52008e21e7e4402e8d24acfb4c265780f90f7b62009');
INSERT INTO entitlement VALUES(3,1,'7001',3,1,1772409600000,NULL,3338322099953743190,3,4,X'5e5e0000000040008000000000000003','REFUND',NULL,1767225720000,1,'pro.monthly',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,X'00c7102bfa80f0e0deca33723cf787',X'9c03609c005d0500440706015e5e00000000400080000306524546554e440080f3e388c0ef66010437303031010b020180d0b9fd25000200ff9ca452000102010004053730303131c0c9dca0f6a71300000000000832313100000001020000010100000032c0e9d295826701c0f6eea713bfd9cad5120101ff9ca452000014003065652178211c330c057b8301da873088332847f65885d111c1d94166404d0eedd7cccc43140f3c2ccc1156cf53c49a748124');
INSERT INTO entitlement VALUES(4,1,'7000',0,2,-9223372036854775808,NULL,-3427025080016524447,1,1,X'5e5e0000000040008000000000000000','DID_RENEW',NULL,1767225600000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,X'0046bffe69',X'9a01209aad0200640302015e5e000000004000800000000000020537000001043730303000000000010b313431010e4e6f6e2d0000000102000000010000000a000783104c720866366026cc4080f58c542f0516c5c23740de610049');
CREATE TABLE entitlement_span (
  entitlement_id INTEGER NOT NULL,
  from_ms INTEGER NOT NULL,
  status INTEGER NOT NULL,
  product INTEGER NOT NULL,
  transaction_id ANY,
  starts_at_ms INTEGER,
  expiry INTEGER NOT NULL,
  expires_at_ms INTEGER,
  gap INTEGER NOT NULL,
  price_milliunits INTEGER,
  currency TEXT,
  offer INTEGER,
  app_account_token ANY,
  app_transaction_id ANY,
  commitment_period INTEGER,
  commitment_periods INTEGER,
  commitment_ends_at_ms INTEGER,
  is_turn INTEGER NOT NULL,
  PRIMARY KEY (entitlement_id, from_ms)
) STRICT, WITHOUT ROWID;
INSERT INTO entitlement_span VALUES(1,-9223372036854775808,3,1,70024,1767225840000,1,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO entitlement_span VALUES(1,1767139440000,0,1,70024,1767225840000,1,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO entitlement_span VALUES(1,1769817840000,3,1,70024,1767225840000,2,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO entitlement_span VALUES(2,-9223372036854775808,3,1,70036,1769817900000,1,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO entitlement_span VALUES(2,1767142800000,0,1,70035,1767229200000,1,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO entitlement_span VALUES(2,1769817900000,0,1,70036,NULL,1,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO entitlement_span VALUES(2,1772409600000,3,1,70036,1769817900000,2,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO entitlement_span VALUES(3,-9223372036854775808,0,1,70011,1767225660000,1,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO entitlement_span VALUES(3,1772409600000,3,1,70011,1767225660000,2,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO entitlement_span VALUES(4,-9223372036854775808,0,2,70000,1767225600000,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0);
CREATE TABLE token (
  kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 3),
  value ANY NOT NULL,
  entitlement_id INTEGER NOT NULL,
  PRIMARY KEY (kind, value, entitlement_id)
) STRICT, WITHOUT ROWID;
INSERT INTO token VALUES(3,6999,1);
CREATE INDEX product_by_id ON product (product_id);
CREATE UNIQUE INDEX entitlement_key ON entitlement (original_transaction_id, app_id);
CREATE INDEX entitlement_broken ON entitlement (app_id) WHERE broken IS NOT NULL;
CREATE INDEX entitlement_anomaly ON entitlement (id) WHERE anomaly;
CREATE INDEX entitlement_lasting ON entitlement (lasting_product_id, lasting_from_ms)
  WHERE lasting_product_id IS NOT NULL;
CREATE INDEX entitlement_previous ON entitlement (previous_original_transaction_id)
  WHERE previous_original_transaction_id IS NOT NULL;
CREATE INDEX entitlement_answer
  ON entitlement (answer_product, answer_status, original_transaction_id);
CREATE INDEX entitlement_until ON entitlement (answer_until_ms)
  WHERE answer_until_ms IS NOT NULL;
CREATE INDEX entitlement_span_turn ON entitlement_span (from_ms) WHERE is_turn;
CREATE VIEW span AS
SELECT s.*, CASE s.expiry WHEN 0 THEN s.expires_at_ms WHEN 2 THEN s.from_ms ELSE (
    SELECT iif(n.expiry = 2, n.from_ms, n.expires_at_ms) FROM entitlement_span n
    WHERE n.entitlement_id = s.entitlement_id AND n.from_ms > s.from_ms AND n.expiry <> 1
    ORDER BY n.from_ms LIMIT 1) END AS paid_through_ms,
  (SELECT min(n.from_ms) FROM entitlement_span n
    WHERE n.entitlement_id = s.entitlement_id AND n.from_ms > s.from_ms) AS to_ms
FROM entitlement_span s;

CREATE VIEW entitlement_v1 AS
WITH clock AS MATERIALIZED (
  SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now
)
SELECT a.environment, a.bundle_id, e.original_transaction_id,
  CAST(s.transaction_id AS TEXT) AS transaction_id, p.product_id, p.product_type, p.ownership,
  t.name AS status, t.gives_access,
  iif(s.transaction_id IS NULL, NULL, coalesce(s.starts_at_ms, s.from_ms)) AS starts_at_ms,
  coalesce(e.lasting_from_ms + d.milliseconds, s.paid_through_ms) AS expires_at_ms,
  e.grace_period_expires_at_ms, e.revoked_at_ms, e.auto_renew,
  CASE WHEN e.auto_renew AND e.renewal_product_id IS NOT p.product_id THEN e.renewal_product_id END
    AS pending_product_id,
  s.gap,
  CASE typeof(s.app_account_token) WHEN 'null' THEN iif(s.transaction_id IS NULL, NULL,
    e.app_account_token) WHEN 'text' THEN s.app_account_token END AS app_account_token,
  CASE typeof(s.app_transaction_id) WHEN 'null' THEN iif(s.transaction_id IS NULL, NULL,
    e.app_transaction_id) WHEN 'text' THEN s.app_transaction_id END AS app_transaction_id,
  p.subscription_group_id, o.type AS offer_type, o.identifier AS offer_identifier,
  o.discount_type AS offer_discount_type, o.period AS offer_period, s.price_milliunits, s.currency,
  CASE e.price_increase WHEN 0 THEN 'pending' WHEN 1 THEN 'accepted' END AS price_increase,
  s.commitment_period, s.commitment_periods, s.commitment_ends_at_ms,
  iif(s.commitment_period IS NULL, NULL, e.commitment_auto_renew) AS commitment_auto_renew,
  (SELECT n.original_transaction_id FROM entitlement n INDEXED BY entitlement_previous
    WHERE n.previous_original_transaction_id = e.original_transaction_id AND n.app_id = e.app_id
    ORDER BY n.last_signed_date_ms DESC, n.original_transaction_id DESC LIMIT 1) AS succeeded_by,
  e.event_count, e.last_seq AS last_event_seq,
  lower(substr(hex(e.last_uuid), 1, 8) || '-' || substr(hex(e.last_uuid), 9, 4) || '-'
    || substr(hex(e.last_uuid), 13, 4) || '-' || substr(hex(e.last_uuid), 17, 4) || '-'
    || substr(hex(e.last_uuid), 21)) AS last_notification_uuid,
  e.last_type AS last_notification_type, e.last_subtype, e.last_signed_date_ms, e.anomaly
FROM clock CROSS JOIN entitlement e
  CROSS JOIN span s ON s.entitlement_id = e.id AND s.from_ms = (
    SELECT max(n.from_ms) FROM entitlement_span n
    WHERE n.entitlement_id = e.id AND n.from_ms <= clock.now)
  JOIN app a ON a.id = e.app_id
  JOIN product p ON p.id = s.product
  LEFT JOIN duration d ON d.product_id = e.lasting_product_id
  JOIN row_status t ON t.id =
    iif(s.status = 0 AND e.lasting_from_ms + d.milliseconds <= clock.now, 3, s.status)
  LEFT JOIN offer o ON o.id = s.offer;

-- A span that a configured duration ends within is two: before that end, and after it.
CREATE VIEW entitlement_span_v1 AS
SELECT a.environment, a.bundle_id, e.original_transaction_id,
  nullif(s.from_ms, -9223372036854775808) AS from_ms,
  CASE WHEN s.status = 0 AND coalesce(s.to_ms > e.lasting_from_ms + d.milliseconds,
      d.milliseconds IS NOT NULL)
    THEN e.lasting_from_ms + d.milliseconds ELSE s.to_ms END AS to_ms,
  t.name AS status, t.gives_access, CAST(s.transaction_id AS TEXT) AS transaction_id, p.product_id,
  coalesce(e.lasting_from_ms + d.milliseconds, s.paid_through_ms) AS expires_at_ms, s.gap
FROM entitlement e
  JOIN span s ON s.entitlement_id = e.id
  JOIN app a ON a.id = e.app_id
  JOIN product p ON p.id = s.product
  JOIN row_status t ON t.id = s.status
  LEFT JOIN duration d ON d.product_id = e.lasting_product_id
WHERE s.status <> 0 OR d.milliseconds IS NULL OR s.from_ms < e.lasting_from_ms + d.milliseconds
UNION ALL
SELECT a.environment, a.bundle_id, e.original_transaction_id,
  nullif(max(s.from_ms, e.lasting_from_ms + d.milliseconds), -9223372036854775808), s.to_ms,
  t.name, t.gives_access, CAST(s.transaction_id AS TEXT), p.product_id,
  e.lasting_from_ms + d.milliseconds, s.gap
FROM entitlement e
  JOIN duration d ON d.product_id = e.lasting_product_id
  JOIN span s ON s.entitlement_id = e.id AND s.status = 0
    AND coalesce(s.to_ms > e.lasting_from_ms + d.milliseconds, 1)
  JOIN app a ON a.id = e.app_id
  JOIN product p ON p.id = s.product
  JOIN row_status t ON t.id = 3;
COMMIT;
