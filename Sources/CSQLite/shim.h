#ifndef SUBLEDGER_CSQLITE_SHIM_H
#define SUBLEDGER_CSQLITE_SHIM_H

#include <sqlite3.h>

/* SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift does not import. */
static inline sqlite3_destructor_type subledger_sqlite_transient(void) { return SQLITE_TRANSIENT; }

/* sqlite3_db_config is variadic; every option used here takes an int and a
   pointer to the old value. */
static inline int subledger_sqlite_configure(sqlite3 *handle, int option, int value) {
  return sqlite3_db_config(handle, option, value, (int *)0);
}

/* sqlite3_config is variadic. SQLite counts its memory under one lock for the whole process, taken
   for every allocation; where no limit needs the count, it is switched off. */
static inline int subledger_sqlite_count_no_memory(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

#endif
