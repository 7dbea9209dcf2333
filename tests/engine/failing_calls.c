/* Fail one call of the C library: below Python and Arrow alike. Loaded with LD_PRELOAD by tests/engine/failing_calls.py.

   `arm` names a directory; from then on the calls below are counted that have a path in it, and the one with the given
   number fails with the given errno, without an effect; by KILL the process is killed instead. Each counted call is written to a log, where there is one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { KILL = -1 };

static char root[PATH_MAX];
static int log_file = -1, number, failure;
static atomic_int calls;

void arm(const char *directory, int nth, int error, int log) {
    atomic_store(&calls, 0);
    number = nth, failure = error, log_file = log;
    snprintf(root, sizeof root, "%s", directory);
}

int counted(void) { return atomic_load(&calls); }

static int fails(const char *name, const char *path) {
    size_t length = strlen(root);
    if (!length || strncmp(path, root, length) || (path[length] && path[length] != '/')) return 0;
    int count = atomic_fetch_add(&calls, 1) + 1, kept = errno;
    if (log_file >= 0) {
        char line[PATH_MAX + 32];
        int size = snprintf(line, sizeof line, "%s %s\n", name, path + length);
        syscall(SYS_write, log_file, line, size);
    }
    if (count == number && failure == KILL) syscall(SYS_kill, getpid(), SIGKILL);
    errno = count == number ? failure : kept;
    return count == number;
}

static int fails_on_file(const char *name, int file) {
    char link[64], path[PATH_MAX];
    if (!root[0]) return 0;
    int kept = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    errno = kept;
    if (size < 0) return 0;
    path[size] = 0;
    return fails(name, path);
}

static int fails_at(const char *name, int directory, const char *path) {
    char link[64], joined[2 * PATH_MAX];
    if (!root[0] || path[0] == '/' || directory == AT_FDCWD) return fails(name, path);
    int kept = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t size = readlink(link, joined, PATH_MAX - 1);
    errno = kept;
    if (size < 0) return 0;
    snprintf(joined + size, sizeof joined - size, "/%s", path);
    return fails(name, joined);
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

int open(const char *path, int flags, ...) { MODE REAL(open); return fails("open", path) ? -1 : real(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE REAL(open64); return fails("open", path) ? -1 : real(path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE REAL(openat); return fails_at("open", at, path) ? -1 : real(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE REAL(openat64); return fails_at("open", at, path) ? -1 : real(at, path, flags, mode); }
ssize_t write(int file, const void *data, size_t size) { REAL(write); return fails_on_file("write", file) ? -1 : real(file, data, size); }
ssize_t pwrite(int file, const void *data, size_t size, off_t at) { REAL(pwrite); return fails_on_file("write", file) ? -1 : real(file, data, size, at); }
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) { REAL(pwrite64); return fails_on_file("write", file) ? -1 : real(file, data, size, at); }
ssize_t writev(int file, const struct iovec *data, int count) { REAL(writev); return fails_on_file("write", file) ? -1 : real(file, data, count); }
int ftruncate(int file, off_t size) { REAL(ftruncate); return fails_on_file("truncate", file) ? -1 : real(file, size); }
int ftruncate64(int file, off64_t size) { REAL(ftruncate64); return fails_on_file("truncate", file) ? -1 : real(file, size); }
int fsync(int file) { REAL(fsync); return fails_on_file("fsync", file) ? -1 : real(file); }
int rename(const char *from, const char *to) { REAL(rename); return fails("rename", to) ? -1 : real(from, to); }
int link(const char *from, const char *to) { REAL(link); return fails("link", to) ? -1 : real(from, to); }
int unlink(const char *path) { REAL(unlink); return fails("unlink", path) ? -1 : real(path); }
int unlinkat(int at, const char *path, int flags) { REAL(unlinkat); return fails_at("unlink", at, path) ? -1 : real(at, path, flags); }
int rmdir(const char *path) { REAL(rmdir); return fails("unlink", path) ? -1 : real(path); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); return fails("mkdir", path) ? -1 : real(path, mode); }
