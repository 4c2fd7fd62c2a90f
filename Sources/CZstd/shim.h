#ifndef SUBLEDGER_CZSTD_SHIM_H
#define SUBLEDGER_CZSTD_SHIM_H

#include <zstd.h>

#endif
