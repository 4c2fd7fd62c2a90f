#ifndef SUBLEDGER_CPOSTGRES_SHIM_H
#define SUBLEDGER_CPOSTGRES_SHIM_H

/* Debian's libpq-dev has the headers in a folder of their own. */
#include <postgresql/libpq-fe.h>

/* Macros of characters, which Swift does not import. */
static const int subledger_severity_field = PG_DIAG_SEVERITY_NONLOCALIZED;
static const int subledger_state_field = PG_DIAG_SQLSTATE;

#endif
