-- What Apple's reports say. Days are those of Pacific Time, counted from 1970-01-01; prices are
-- milliunits of one unit; `rest` is how many units are in no pair yet.
CREATE TEMP TABLE reported_row (
  report TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, product TEXT NOT NULL,
  country TEXT NOT NULL, currency TEXT NOT NULL, is_return INTEGER NOT NULL,
  price INTEGER NOT NULL, units INTEGER NOT NULL
);
-- Each day that a file is about, and the first one of those that its rows have together; not
-- `inside` are the days of rows that are settled in another month.
CREATE TEMP TABLE reported_day (
  report TEXT NOT NULL, day INTEGER NOT NULL, first INTEGER NOT NULL, inside INTEGER NOT NULL,
  PRIMARY KEY (report, day)
);

BEGIN;
