/* Records what a program does to its files, and injects faults.

   The library is preloaded into the program under test and intercepts the calls that the program,
   SQLite and zstd make to the C library. Every operation on files below one path is executed and
   recorded in a trace, in the order of execution, together with the answers that were sent through
   sockets. From the trace a test reconstructs the disk as it could look after a loss of power at
   any time. It can also make the n-th operation of a kind fail, fill the disk, or shift the clock.

   Settings, all in the environment:

     RECORDED_DISK_FOLDER  paths that begin with this are watched, and the folder above them.
     RECORDED_DISK_TRACE   the trace; several processes may write to one.
     RECORDED_DISK_FAULT   KIND:N:ERRNO:once|on[:ENDING] the N-th operation of a kind (read, write,
                           sync, name) on paths that end with ENDING fails, or all from the N-th on.
                           Kinds sqlite, crypto and zstd are allocations of these libraries.
     RECORDED_DISK_FIRED   a file that is made once the fault has occurred.
     RECORDED_DISK_COUNT   a file that gets the number of operations of the kind at exit.
     RECORDED_DISK_FULL    while this file exists, no watched file can grow: ENOSPC.
     RECORDED_DISK_STUCK   while this file exists, no sync of a watched file returns.
     RECORDED_DISK_CLOCK   a file whose first eight bytes are milliseconds to add to the wall clock.

   A record of the trace, in the machine's byte order:
     u8 kind, u64 inode, i64 offset, u32 bytes of path, u32 of the other path, u32 of content;
   then these three. Writes through memory maps are not seen, so SQLite's -shm, which is not read
   after a crash, is left out. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { maximum_descriptors = 65536, maximum_path = 4096 };
enum { not_watched, watched_file, watched_folder };

static unsigned char watched[maximum_descriptors];
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static const char *prefix;
static char parent[maximum_path];
static int trace = -1;
static const char *full_marker;
static const char *stuck_marker;
static const char *fired_marker;
static const int64_t *clock_offset;

static struct {
  char kind[16];
  long number;
  int error;
  int stays;
  char ending[64];
  const char *low, *high; /* the addresses of an allocating library */
  atomic_long count;
} fault;

/* The C library's definition of a function, which is the next one. */
#define REAL(name)                                                     \
  static __typeof__(&name) real;                                       \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* ---- Setting up ---- */

static int is_object(struct dl_phdr_info *info, size_t size, void *wanted) {
  (void)size;
  if (!strstr(info->dlpi_name, wanted)) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const char *low = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    const char *high = low + info->dlpi_phdr[i].p_memsz;
    if (!fault.low || low < fault.low) fault.low = low;
    if (high > fault.high) fault.high = high;
  }
  return 1;
}

static void read_fault(const char *text) {
  char how[8] = "";
  if (sscanf(text, "%15[a-z]:%ld:%d:%7[a-z]:%63s", fault.kind, &fault.number, &fault.error, how,
             fault.ending) < 4) {
    fprintf(stderr, "RECORDED_DISK_FAULT: %s\n", text);
    _exit(99);
  }
  fault.stays = strcmp(how, "on") == 0;
  if (!strcmp(fault.kind, "sqlite")) dl_iterate_phdr(is_object, "libsqlite3.so");
  if (!strcmp(fault.kind, "crypto")) dl_iterate_phdr(is_object, "libcrypto.so");
  if (!strcmp(fault.kind, "zstd")) dl_iterate_phdr(is_object, "libzstd.so");
}

__attribute__((constructor)) static void set_up(void) {
  prefix = getenv("RECORDED_DISK_FOLDER");
  full_marker = getenv("RECORDED_DISK_FULL");
  stuck_marker = getenv("RECORDED_DISK_STUCK");
  fired_marker = getenv("RECORDED_DISK_FIRED");
  if (prefix) {
    snprintf(parent, sizeof parent, "%s", prefix);
    char *slash = strrchr(parent, '/');
    if (slash) *slash = 0;
  }
  const char *path = getenv("RECORDED_DISK_TRACE");
  if (path) {
    trace = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                         0600);
  }
  const char *clock = getenv("RECORDED_DISK_CLOCK");
  if (clock) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, clock, O_RDONLY | O_CLOEXEC, 0);
    void *page = mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) clock_offset = page;
    syscall(SYS_close, file);
  }
  const char *text = getenv("RECORDED_DISK_FAULT");
  if (text) read_fault(text);
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("RECORDED_DISK_COUNT");
  if (!path) return;
  char text[32];
  int length = snprintf(text, sizeof text, "%ld\n", atomic_load(&fault.count));
  int file =
      (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  syscall(SYS_write, file, text, (size_t)length);
  syscall(SYS_close, file);
}

/* ---- Used by every operation ---- */

/* One operation at a time across all processes, so that the trace has the order of execution. */
static void enter(void) {
  pthread_mutex_lock(&mutex);
  if (trace >= 0) flock(trace, LOCK_EX);
}

static void leave(void) {
  int code = errno;
  if (trace >= 0) flock(trace, LOCK_UN);
  pthread_mutex_unlock(&mutex);
  errno = code;
}

static int ends(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && !strcmp(text + length - tail, end);
}

static int is_inside(const char *path) {
  return prefix && path && !strncmp(path, prefix, strlen(prefix)) && !ends(path, "-shm");
}

static int kind_of(int descriptor) {
  return descriptor >= 0 && descriptor < maximum_descriptors ? watched[descriptor] : not_watched;
}

static void path_of(int descriptor, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, maximum_path - 1);
  path[length < 0 ? 0 : length] = 0;
}

/* Whether this operation must fail; sets errno if so. */
static int fails(const char *kind, const char *path) {
  if (!fault.number || strcmp(kind, fault.kind)) return 0;
  size_t length = path ? strlen(path) : 0, ending = strlen(fault.ending);
  if (length < ending || (ending && strcmp(path + length - ending, fault.ending))) return 0;
  long number = atomic_fetch_add(&fault.count, 1) + 1;
  if (fault.stays ? number < fault.number : number != fault.number) return 0;
  if (fired_marker) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, fired_marker, O_WRONLY | O_CREAT | O_CLOEXEC,
                            0600);
    syscall(SYS_close, file);
  }
  errno = fault.error;
  return 1;
}

static int descriptor_fails(const char *kind, int descriptor) {
  if (!fault.number || strcmp(kind, fault.kind)) return 0;
  char path[maximum_path];
  path_of(descriptor, path);
  return fails(kind, path);
}

static int exists(const char *marker) {
  return marker && syscall(SYS_faccessat, AT_FDCWD, marker, F_OK) == 0;
}

static void record(char kind, uint64_t inode, int64_t offset, const char *path, const char *other,
                   const void *content, size_t size) {
  if (trace < 0) return;
  int code = errno;
  char head[29];
  uint32_t lengths[3] = {path ? (uint32_t)strlen(path) : 0, other ? (uint32_t)strlen(other) : 0,
                         (uint32_t)size};
  head[0] = kind;
  memcpy(head + 1, &inode, 8);
  memcpy(head + 9, &offset, 8);
  memcpy(head + 17, lengths, 12);
  struct iovec parts[4] = {{head, sizeof head},
                           {(void *)path, lengths[0]},
                           {(void *)other, lengths[1]},
                           {(void *)content, size}};
  if (syscall(SYS_writev, trace, parts, 4) != (long)(sizeof head + lengths[0] + lengths[1] + size))
    abort();
  errno = code;
}

static uint64_t inode_of(int descriptor, int64_t *size) {
  struct stat status;
  int code = errno;
  if (fstat(descriptor, &status)) return 0;
  errno = code;
  if (size) *size = status.st_size;
  return status.st_ino;
}

/* ---- Names ---- */

static int after_open(int descriptor, const char *path, int flags, int was_there) {
  if (descriptor < 0 || descriptor >= maximum_descriptors) return descriptor;
  struct stat status;
  if (fstat(descriptor, &status)) return descriptor;
  watched[descriptor] = S_ISREG(status.st_mode)   ? watched_file
                        : S_ISDIR(status.st_mode) ? watched_folder
                                                  : not_watched;
  if (watched[descriptor] != watched_file) return descriptor;
  if (!was_there) {
    record('C', status.st_ino, 0, path, 0, 0, 0);
  } else if (flags & O_TRUNC) {
    record('T', status.st_ino, 0, 0, 0, 0, 0);
  }
  return descriptor;
}

#define OPEN(name)                                                                   \
  int name(const char *path, int flags, ...) {                                       \
    REAL(name);                                                                      \
    va_list rest;                                                                    \
    va_start(rest, flags);                                                           \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;          \
    va_end(rest);                                                                    \
    int is_parent = prefix && path && !strcmp(path, parent);                         \
    if (!is_parent && !is_inside(path)) return real(path, flags, mode);              \
    enter();                                                                         \
    int was_there = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;               \
    int descriptor = -1;                                                             \
    if (!fails("name", path))                                                        \
      descriptor = after_open(real(path, flags, mode), path, flags, was_there);      \
    leave();                                                                         \
    return descriptor;                                                               \
  }

OPEN(open)
OPEN(open64)

int close(int descriptor) {
  REAL(close);
  if (kind_of(descriptor)) watched[descriptor] = not_watched;
  return real(descriptor);
}

static int after_name(int code, char kind, const char *path, const char *other) {
  if (code == 0) record(kind, 0, 0, path, other, 0, 0);
  return code;
}

int rename(const char *from, const char *to) {
  REAL(rename);
  if (!is_inside(from)) return real(from, to);
  enter();
  int code = fails("name", from) ? -1 : after_name(real(from, to), 'R', from, to);
  leave();
  return code;
}

int renameat2(int old, const char *from, int new, const char *to, unsigned int flags) {
  REAL(renameat2);
  if (!is_inside(from)) return real(old, from, new, to, flags);
  enter();
  int code = fails("name", from) ? -1 : after_name(real(old, from, new, to, flags), 'R', from, to);
  leave();
  return code;
}

int link(const char *from, const char *to) {
  REAL(link);
  if (!is_inside(from)) return real(from, to);
  enter();
  int code = fails("name", from) ? -1 : after_name(real(from, to), 'L', from, to);
  leave();
  return code;
}

int symlink(const char *target, const char *path) {
  REAL(symlink);
  if (!is_inside(path)) return real(target, path);
  enter();
  int code = fails("name", path) ? -1 : after_name(real(target, path), 'Y', path, target);
  leave();
  return code;
}

int unlink(const char *path) {
  REAL(unlink);
  if (!is_inside(path)) return real(path);
  enter();
  int code = fails("name", path) ? -1 : after_name(real(path), 'U', path, 0);
  leave();
  return code;
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  if (!is_inside(path)) return real(path, mode);
  enter();
  int code = fails("name", path) ? -1 : after_name(real(path, mode), 'M', path, 0);
  leave();
  return code;
}

int rmdir(const char *path) {
  REAL(rmdir);
  if (!is_inside(path)) return real(path);
  enter();
  int code = fails("name", path) ? -1 : after_name(real(path), 'X', path, 0);
  leave();
  return code;
}

/* ---- Content ---- */

ssize_t read(int descriptor, void *buffer, size_t count) {
  REAL(read);
  if (kind_of(descriptor) != watched_file) return real(descriptor, buffer, count);
  return descriptor_fails("read", descriptor) ? -1 : real(descriptor, buffer, count);
}

#define PREAD(name, offset_type)                                                       \
  ssize_t name(int descriptor, void *buffer, size_t count, offset_type offset) {       \
    REAL(name);                                                                        \
    if (kind_of(descriptor) == watched_file && descriptor_fails("read", descriptor))   \
      return -1;                                                                       \
    return real(descriptor, buffer, count, offset);                                    \
  }

PREAD(pread, off_t)
PREAD(pread64, off64_t)

/* Whether there is no room for a file: while the marker exists, for those whose path contains the
   marker's text, and for all if it is empty. */
static int is_full(int descriptor) {
  if (!exists(full_marker)) return 0;
  char part[64] = "";
  long marker = syscall(SYS_openat, AT_FDCWD, full_marker, O_RDONLY | O_CLOEXEC);
  if (marker < 0) return 0;
  long size = syscall(SYS_read, marker, part, sizeof part - 1);
  syscall(SYS_close, marker);
  if (size <= 0) return 1;
  char path[maximum_path];
  path_of(descriptor, path);
  return strstr(path, part) != 0;
}

/* How many bytes of a write are executed: all, or the first half before the error. */
static size_t allowed(int descriptor, size_t count, int64_t offset) {
  int64_t size = 0;
  inode_of(descriptor, &size);
  if (offset + (int64_t)count > size && is_full(descriptor)) {
    errno = ENOSPC;
    return size > offset ? (size_t)(size - offset) : 0;
  }
  return descriptor_fails("write", descriptor) ? count / 2 : count;
}

ssize_t write(int descriptor, const void *buffer, size_t count) {
  REAL(write);
  if (kind_of(descriptor) != watched_file) return real(descriptor, buffer, count);
  enter();
  int64_t offset = lseek(descriptor, 0, SEEK_CUR);
  if (fcntl(descriptor, F_GETFL) & O_APPEND) inode_of(descriptor, &offset);
  size_t part = allowed(descriptor, count, offset);
  int code = errno;
  ssize_t done = part ? real(descriptor, buffer, part) : 0;
  if (done > 0) record('W', inode_of(descriptor, 0), offset, 0, 0, buffer, (size_t)done);
  if (part < count && done >= 0) {
    /* The program sees the error at once instead of at its next call. */
    if (done > 0) lseek(descriptor, offset, SEEK_SET);
    done = -1;
    errno = code;
  }
  leave();
  return done;
}

#define PWRITE(name, offset_type)                                                          \
  ssize_t name(int descriptor, const void *buffer, size_t count, offset_type offset) {     \
    REAL(name);                                                                            \
    if (kind_of(descriptor) != watched_file) return real(descriptor, buffer, count, offset); \
    enter();                                                                               \
    size_t part = allowed(descriptor, count, offset);                                      \
    int code = errno;                                                                      \
    ssize_t done = part ? real(descriptor, buffer, part, offset) : 0;                      \
    if (done > 0)                                                                          \
      record('W', inode_of(descriptor, 0), offset, 0, 0, buffer, (size_t)done);            \
    if (part < count && done >= 0) {                                                       \
      done = -1;                                                                           \
      errno = code;                                                                        \
    }                                                                                      \
    leave();                                                                               \
    return done;                                                                           \
  }

PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define FTRUNCATE(name, offset_type)                                               \
  int name(int descriptor, offset_type size) {                                     \
    REAL(name);                                                                    \
    if (kind_of(descriptor) != watched_file) return real(descriptor, size);        \
    enter();                                                                       \
    int code = descriptor_fails("write", descriptor) ? -1 : real(descriptor, size); \
    if (code == 0) record('T', inode_of(descriptor, 0), size, 0, 0, 0, 0);         \
    leave();                                                                       \
    return code;                                                                   \
  }

FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

#define SYNC(name)                                                                  \
  int name(int descriptor) {                                                        \
    REAL(name);                                                                     \
    if (!kind_of(descriptor)) return real(descriptor);                              \
    while (exists(stuck_marker)) usleep(10000);                                   \
    enter();                                                                        \
    char path[maximum_path];                                                        \
    path_of(descriptor, path);                                                      \
    int code = fails("sync", path) ? -1 : real(descriptor);                         \
    int is_folder = kind_of(descriptor) == watched_folder;                          \
    record(is_folder ? (code ? 'G' : 'D') : (code ? 'F' : 'S'),                     \
           inode_of(descriptor, 0), 0, path, 0, 0, 0);                              \
    leave();                                                                        \
    return code;                                                                    \
  }

SYNC(fsync)
SYNC(fdatasync)

/* ---- Answers ---- */

ssize_t send(int descriptor, const void *buffer, size_t count, int flags) {
  REAL(send);
  if (trace < 0) return real(descriptor, buffer, count, flags);
  enter();
  ssize_t done = real(descriptor, buffer, count, flags);
  if (done > 0) record('A', 0, descriptor, 0, 0, buffer, (size_t)done);
  leave();
  return done;
}

/* ---- Memory ---- */

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static int has_no_memory(const char *caller) {
  return fault.low && caller >= fault.low && caller < fault.high && fails(fault.kind, 0);
}

void *malloc(size_t size) {
  return has_no_memory(__builtin_return_address(0)) ? 0 : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return has_no_memory(__builtin_return_address(0)) ? 0 : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  return has_no_memory(__builtin_return_address(0)) ? 0 : __libc_realloc(old, size);
}

/* ---- The wall clock ---- */

int clock_gettime(clockid_t clock, struct timespec *time) {
  REAL(clock_gettime);
  int code = real(clock, time);
  if (code || clock != CLOCK_REALTIME || !clock_offset) return code;
  int64_t offset = __atomic_load_n(clock_offset, __ATOMIC_RELAXED);
  int64_t nanoseconds = time->tv_nsec + offset % 1000 * 1000000;
  time->tv_sec += offset / 1000;
  if (nanoseconds < 0) (nanoseconds += 1000000000, time->tv_sec--);
  if (nanoseconds >= 1000000000) (nanoseconds -= 1000000000, time->tv_sec++);
  time->tv_nsec = nanoseconds;
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
