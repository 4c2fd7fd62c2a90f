-- SHA-256 of the root certificates that every daemon must trust, and no other. Without a row each
-- daemon trusts those of its own configuration. Only the owner writes here.
SET LOCAL search_path = :"schema";

CREATE TABLE trust_root (sha256 bytea PRIMARY KEY CHECK (length(sha256) = 32));

GRANT SELECT ON trust_root TO :"daemon";
