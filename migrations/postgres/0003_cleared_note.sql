-- A note is cleared with a later note that what it was about was removed, in the same SQL transaction:
-- a new copy would lack that otherwise, and not know it. Checked at the COMMIT, because daemons clear
-- first.
SET LOCAL search_path = :"schema";

CREATE FUNCTION require_removal() RETURNS trigger LANGUAGE plpgsql
  SET search_path = :"schema", pg_temp AS $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM note WHERE subject = NEW.subject || '/removed'
                 AND version > NEW.version AND body <> '') THEN
    RAISE EXCEPTION 'a note is cleared when what it is about is removed' USING ERRCODE = 'SL005';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER note_cleared AFTER UPDATE ON note DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION require_removal();
