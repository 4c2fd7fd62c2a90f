#ifndef SUBLEDGER_CZLIB_SHIM_H
#define SUBLEDGER_CZLIB_SHIM_H

#include <zlib.h>

#endif
