-- Two notifications with one UUID and different contents are both kept.
DROP INDEX quarantine_uuid;

CREATE INDEX quarantine_uuid ON quarantine (notification_uuid)
WHERE notification_uuid IS NOT NULL;

-- For the numbers by owner, and for what is dropped or admitted by app and reason.
DROP INDEX quarantine_foreign;

CREATE INDEX quarantine_app ON quarantine (bundle_id, reason, is_foreign, source);
