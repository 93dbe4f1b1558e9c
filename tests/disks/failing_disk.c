/* A disk that fails on demand: stands before the C library's calls, and has one of them refused.
 *
 * KERYX_FAULT_CALLS  the calls that count, such as "write,fsync,rename"; "change" is all that change
 *                    something, "room" those that a full disk refuses
 * KERYX_FAULT_PATH   only calls on a path that holds this text
 * KERYX_FAULT_AT     which of them fails, from 1; 0 only counts
 * KERYX_FAULT_ERRNO  as what, a number; 0: the process is killed there, half-way through a write
 * KERYX_FAULT_LASTS  1: every later one fails too, as on a disk that stays full
 *
 * The variables are read by keryx_fault_arm(); keryx_fault_count() tells how many calls counted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static const char CHANGE[] =
    ",write,pwrite,writev,fsync,fdatasync,rename,link,create,mkdir,symlink,unlink,truncate,chmod,";
static const char ROOM[] = ",write,pwrite,writev,fsync,fdatasync,rename,link,create,mkdir,symlink,";
static char calls[256] = ",", where[PATH_MAX];
static long at, counted, lasts;
static int number, armed;

static void unfold(const char *named) {
    snprintf(calls, sizeof calls, ",%s,", named ? named : "");
    if (!strcmp(calls, ",change,"))
        snprintf(calls, sizeof calls, "%s", CHANGE);
    if (!strcmp(calls, ",room,"))
        snprintf(calls, sizeof calls, "%s", ROOM);
}

static long number_of(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

void keryx_fault_arm(void) {
    const char *path = getenv("KERYX_FAULT_PATH");
    unfold(getenv("KERYX_FAULT_CALLS"));
    snprintf(where, sizeof where, "%s", path ? path : "");
    at = number_of("KERYX_FAULT_AT");
    number = (int)number_of("KERYX_FAULT_ERRNO");
    lasts = number_of("KERYX_FAULT_LASTS");
    counted = 0;
    armed = 1;
}

void keryx_fault_disarm(void) { armed = 0; }

long keryx_fault_count(void) { return counted; }

__attribute__((constructor)) static void arm_at_start(void) {
    if (getenv("KERYX_FAULT_CALLS"))
        keryx_fault_arm();
}

static void place_of(int fd, char *out) {
    char link[64];
    ssize_t size;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, out, PATH_MAX - 1);
    out[size < 0 ? 0 : size] = 0;
}

static int refused(const char *call, int fd, const char *name) {
    char path[PATH_MAX], whole[2 * PATH_MAX + 2], wanted[32];
    if (!armed)
        return 0;
    snprintf(wanted, sizeof wanted, ",%s,", call);
    if (!strstr(calls, wanted))
        return 0;
    path[0] = 0;
    if (fd != AT_FDCWD && !(name && name[0] == '/'))
        place_of(fd, path);
    snprintf(whole, sizeof whole, "%s/%s", path, name ? name : "");
    if (!strstr(whole, where))
        return 0;
    counted++;
    if (at == 0 || counted < at || (counted > at && !lasts))
        return 0;
    if (number == 0 && strcmp(call, "write"))
        raise(SIGKILL);
    errno = number;
    return 1;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) \
        real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

#define ON_FD(type, name, call, parameters, arguments, ...) \
    type name parameters { \
        REAL(type, name, __VA_ARGS__); \
        return refused(call, fd, NULL) ? -1 : real arguments; \
    }

#define ON_NAME(name, call, folder, parameters, arguments, ...) \
    int name parameters { \
        REAL(int, name, __VA_ARGS__); \
        return refused(call, folder, path) ? -1 : real arguments; \
    }

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t);
    if (!refused("write", fd, NULL))
        return real(fd, data, size);
    if (number == 0) {
        real(fd, data, size / 2);
        raise(SIGKILL);
    }
    return -1;
}

ON_FD(ssize_t, writev, "writev", (int fd, const struct iovec *parts, int count),
      (fd, parts, count), int, const struct iovec *, int)
ON_FD(ssize_t, pwrite, "pwrite", (int fd, const void *data, size_t size, off_t from),
      (fd, data, size, from), int, const void *, size_t, off_t)
ON_FD(ssize_t, pwrite64, "pwrite", (int fd, const void *data, size_t size, off64_t from),
      (fd, data, size, from), int, const void *, size_t, off64_t)
ON_FD(ssize_t, read, "read", (int fd, void *data, size_t size), (fd, data, size), int, void *,
      size_t)
ON_FD(ssize_t, pread, "read", (int fd, void *data, size_t size, off_t from),
      (fd, data, size, from), int, void *, size_t, off_t)
ON_FD(ssize_t, pread64, "read", (int fd, void *data, size_t size, off64_t from),
      (fd, data, size, from), int, void *, size_t, off64_t)
ON_FD(int, fsync, "fsync", (int fd), (fd), int)
ON_FD(int, fdatasync, "fdatasync", (int fd), (fd), int)
ON_FD(int, ftruncate, "truncate", (int fd, off_t size), (fd, size), int, off_t)
ON_FD(int, ftruncate64, "truncate", (int fd, off64_t size), (fd, size), int, off64_t)
ON_FD(int, fchmod, "chmod", (int fd, mode_t mode), (fd, mode), int, mode_t)

ON_NAME(chmod, "chmod", AT_FDCWD, (const char *path, mode_t mode), (path, mode), const char *,
        mode_t)
ON_NAME(fchmodat, "chmod", fd, (int fd, const char *path, mode_t mode, int flags),
        (fd, path, mode, flags), int, const char *, mode_t, int)
ON_NAME(mkdir, "mkdir", AT_FDCWD, (const char *path, mode_t mode), (path, mode), const char *,
        mode_t)
ON_NAME(mkdirat, "mkdir", fd, (int fd, const char *path, mode_t mode), (fd, path, mode), int,
        const char *, mode_t)
ON_NAME(unlink, "unlink", AT_FDCWD, (const char *path), (path), const char *)
ON_NAME(rmdir, "unlink", AT_FDCWD, (const char *path), (path), const char *)
ON_NAME(unlinkat, "unlink", fd, (int fd, const char *path, int flags), (fd, path, flags), int,
        const char *, int)
ON_NAME(rename, "rename", AT_FDCWD, (const char *from, const char *path), (from, path),
        const char *, const char *)
ON_NAME(renameat, "rename", fd, (int from_fd, const char *from, int fd, const char *path),
        (from_fd, from, fd, path), int, const char *, int, const char *)
ON_NAME(link, "link", AT_FDCWD, (const char *from, const char *path), (from, path), const char *,
        const char *)
ON_NAME(linkat, "link", fd, (int from_fd, const char *from, int fd, const char *path, int flags),
        (from_fd, from, fd, path, flags), int, const char *, int, const char *, int)
ON_NAME(symlink, "symlink", AT_FDCWD, (const char *from, const char *path), (from, path),
        const char *, const char *)
ON_NAME(symlinkat, "symlink", fd, (const char *from, int fd, const char *path), (from, fd, path),
        const char *, int, const char *)

#define OPENED(name, folder, parameters, arguments, ...) \
    int name parameters { \
        mode_t mode = 0; \
        va_list rest; \
        REAL(int, name, __VA_ARGS__); \
        va_start(rest, flags); \
        if (flags & (O_CREAT | O_TMPFILE)) \
            mode = va_arg(rest, mode_t); \
        va_end(rest); \
        if (refused(flags & O_CREAT ? "create" : "open", folder, path)) \
            return -1; \
        return real arguments; \
    }

OPENED(open, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode), const char *, int,
       ...)
OPENED(open64, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode), const char *,
       int, ...)
OPENED(openat, fd, (int fd, const char *path, int flags, ...), (fd, path, flags, mode), int,
       const char *, int, ...)
OPENED(openat64, fd, (int fd, const char *path, int flags, ...), (fd, path, flags, mode), int,
       const char *, int, ...)
