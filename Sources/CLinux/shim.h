#ifndef SUBLEDGER_CLINUX_SHIM_H
#define SUBLEDGER_CLINUX_SHIM_H

/* What Linux offers and Swift's Glibc module leaves out. */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

/* Enumerators with computed values, as plain integers. */
static const int subledger_eventfd_flags = EFD_CLOEXEC | EFD_NONBLOCK;
static const unsigned subledger_epoll_read = EPOLLIN | EPOLLRDHUP;
static const unsigned subledger_epoll_write = EPOLLOUT;
static const unsigned subledger_epoll_exclusive = EPOLLEXCLUSIVE;

/* Declared only for _GNU_SOURCE, which Swift does not define. */
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

/* Likewise; and its flag is a macro of the same condition. glibc has it since 2.28. */
extern int renameat2(int old_folder, const char *old_name, int new_folder, const char *new_name,
                     unsigned flags);
static const unsigned subledger_rename_noreplace = 1;

/* prctl is variadic. */
static inline int subledger_name_thread(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }
static inline int subledger_no_core_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

#endif
