#ifndef SUBLEDGER_CZSTD_SHIM_H
#define SUBLEDGER_CZSTD_SHIM_H

#include <zdict.h>
#include <zstd.h>

#endif
