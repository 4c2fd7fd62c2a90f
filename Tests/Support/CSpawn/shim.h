#ifndef SUBLEDGER_CSPAWN_SHIM_H
#define SUBLEDGER_CSPAWN_SHIM_H

#include <spawn.h>

/* Declared only for _GNU_SOURCE, which Swift does not define. glibc has them since 2.29 and 2.34. */
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions,
                                                const char *folder);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

#endif
