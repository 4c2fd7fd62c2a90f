#ifndef SUBLEDGER_CLINUX_SHIM_H
#define SUBLEDGER_CLINUX_SHIM_H

/* Headers of Linux that are not part of Swift's Glibc module. */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* Swift does not import expressions of enumerators. */
static const int subledger_eventfd_flags = EFD_CLOEXEC | EFD_NONBLOCK;
static const unsigned subledger_epoll_exclusive = EPOLLEXCLUSIVE;

/* The headers declare it only for _GNU_SOURCE, which Swift does not define. */
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

/* The same holds for renameat2 (since glibc 2.28) and the macro of its flag. */
extern int renameat2(int old_folder, const char *old_name, int new_folder, const char *new_name,
                     unsigned flags);
static const unsigned subledger_rename_noreplace = 1;

/* And for O_TMPFILE, by its public name. */
static const int subledger_tmpfile = __O_TMPFILE;

/* prctl is variadic, and Swift does not import variadic functions. */
static inline int subledger_name_thread(const char *name) {
  return prctl(PR_SET_NAME, name, 0, 0, 0);
}
static inline int subledger_no_core_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/* The headers declare struct ucred only for _GNU_SOURCE (unix(7), SO_PEERCRED). */
static inline unsigned subledger_peer_user(int descriptor) {
  struct { int process; unsigned user, group; } peer = {0, (unsigned)-1, 0};
  socklen_t length = sizeof peer;
  getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length);
  return peer.user;
}

/* A macro of a member of unions. */
static inline unsigned subledger_sender(const siginfo_t *info) { return info->si_uid; }

#endif
