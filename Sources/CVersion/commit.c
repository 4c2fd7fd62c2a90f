#include "CVersion.h"

const char *subledger_commit(void) { return SUBLEDGER_COMMIT; }
