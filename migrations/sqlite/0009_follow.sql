-- What a copy followed and does not believe (Format.md): local to each copy, and mostly empty.
CREATE TABLE broken_event (seq INTEGER PRIMARY KEY REFERENCES event (seq)) STRICT;

CREATE TABLE unproven_event (seq INTEGER PRIMARY KEY REFERENCES event (seq)) STRICT;

CREATE TABLE skipped_note (
  version INTEGER PRIMARY KEY,
  subject TEXT NOT NULL,
  sha256 BLOB NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('newer', 'invalid', 'unproven')),
  body BLOB NOT NULL
) STRICT;
