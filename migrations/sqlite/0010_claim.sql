-- Which accounts have which purchases: the last statement of each account about each purchase, where
-- that is a claim. Derived from the statements, so that nobody has to read all of them for it.
CREATE TABLE claim (
  stream_id INTEGER NOT NULL REFERENCES stream (id),
  mac BLOB NOT NULL CHECK (length(mac) = 32),
  seq INTEGER NOT NULL UNIQUE REFERENCES event (seq),
  PRIMARY KEY (stream_id, mac)
) STRICT, WITHOUT ROWID;

CREATE INDEX claim_stream ON claim (stream_id, seq);

CREATE INDEX claim_mac ON claim (mac, seq);

INSERT INTO claim (stream_id, mac, seq)
SELECT s.stream_id, s.mac, last.seq FROM (
  SELECT max(s.seq) AS seq FROM statement s JOIN event e ON e.seq = s.seq
  WHERE e.source = 'account' GROUP BY s.stream_id, s.mac) last
JOIN statement s ON s.seq = last.seq JOIN event e ON e.seq = last.seq
JOIN kind k ON k.id = e.kind_id WHERE k.notification_type = 'ACCOUNT_CLAIM';

CREATE TRIGGER statement_insert AFTER INSERT ON statement
WHEN (SELECT source FROM event WHERE seq = NEW.seq) = 'account'
BEGIN
  DELETE FROM claim WHERE stream_id = NEW.stream_id AND mac = NEW.mac;
  INSERT INTO claim (stream_id, mac, seq)
  SELECT NEW.stream_id, NEW.mac, NEW.seq FROM event e JOIN kind k ON k.id = e.kind_id
  WHERE e.seq = NEW.seq AND k.notification_type = 'ACCOUNT_CLAIM';
END;
