/* Preloaded into a program (LD_PRELOAD): counts its writes to files whose path contains a text. At the N-th such call it
 * kills the program before, in the middle or after the call, or makes this and all later calls fail, or logs all calls.
 *
 * Environment (see lib.rs, which sets it):
 *   WAYLEAVE_FAULTS_WATCH  the text; without it the shim is inactive
 *   WAYLEAVE_FAULTS_EXCEPT a text; files whose path contains it are ignored
 *   WAYLEAVE_FAULTS_AT     N, from 1; 0 for never
 *   WAYLEAVE_FAULTS_DO     before | half | after | ENOSPC | EIO | EROFS
 *   WAYLEAVE_FAULTS_WHILE  calls count, and fail, only while this file exists
 *   WAYLEAVE_FAULTS_TRACE  a file that records every call
 *
 * A call is write, pwrite, fsync, fdatasync, ftruncate, unlink, rename or the creation of a file. The trace holds one
 * record per call: a letter, lengths of path, offset and data as 8 bytes little-endian each, path, data.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define PATH_LENGTH 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *watch, *except, *gate;
static const char *what = "";
static uint64_t at, count;
static int trace = -1, started, counts = 1;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off64_t);
static int (*real_unlink)(const char *);
static int (*real_rename)(const char *, const char *);
static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);

static void start(void) {
  const char *text;
  if (started) return;
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  real_rename = dlsym(RTLD_NEXT, "rename");
  real_open = dlsym(RTLD_NEXT, "open64");
  real_openat = dlsym(RTLD_NEXT, "openat64");
  watch = getenv("WAYLEAVE_FAULTS_WATCH");
  except = getenv("WAYLEAVE_FAULTS_EXCEPT");
  if ((text = getenv("WAYLEAVE_FAULTS_AT"))) at = strtoull(text, NULL, 10);
  if ((text = getenv("WAYLEAVE_FAULTS_DO"))) what = text;
  gate = getenv("WAYLEAVE_FAULTS_WHILE");
  if ((text = getenv("WAYLEAVE_FAULTS_TRACE"))) trace = real_open(text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  started = 1;
}

__attribute__((constructor)) static void begin(void) { start(); }

/* Returns the path of an open file, or an empty text. */
static const char *path_of(int fd, char *path) {
  char link[64];
  ssize_t length;
  path[0] = 0;
  if (!watch || fd == trace) return path;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  length = readlink(link, path, PATH_LENGTH - 1);
  path[length > 0 ? length : 0] = 0;
  return path;
}

static int watched(const char *path) {
  return watch && path[0] && strstr(path, watch) && !(except && strstr(path, except));
}

static void record(char kind, const char *path, uint64_t offset, const void *data, uint64_t length) {
  uint64_t head[3] = {strlen(path), offset, length};
  if (trace < 0) return;
  (void)!real_write(trace, &kind, 1);
  (void)!real_write(trace, head, sizeof head);
  (void)!real_write(trace, path, head[0]);
  (void)!real_write(trace, data, length);
}

static int failure(void) {
  if (!strcmp(what, "ENOSPC")) return ENOSPC;
  if (!strcmp(what, "EIO")) return EIO;
  if (!strcmp(what, "EROFS")) return EROFS;
  return 0;
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/* Begins a call on a watched file, with the lock held until it ends. Returns an error number if the call has to
 * fail. */
static int enter(char kind, const char *path, uint64_t offset, const void *data, uint64_t length, int *half) {
  pthread_mutex_lock(&lock);
  *half = 0;
  counts = !gate || !access(gate, F_OK);
  if (!counts) {
    record(kind, path, offset, data, length);
    return 0;
  }
  count++;
  if (at && count >= at && failure()) return failure();
  if (at && count == at) {
    *half = !strcmp(what, "half");
    if (!strcmp(what, "before") || (*half && length == 0)) die();
  }
  record(kind, path, offset, data, length);
  return 0;
}

static void leave(void) {
  int now = counts && at && count == at && (!strcmp(what, "after") || !strcmp(what, "half"));
  if (now) die();
  pthread_mutex_unlock(&lock);
}

static int refuse(int error) {
  pthread_mutex_unlock(&lock);
  errno = error;
  return -1;
}

/* Returns the offset of the next write. */
static uint64_t position(int fd) {
  int appends = fcntl(fd, F_GETFL) & O_APPEND;
  return (uint64_t)lseek64(fd, 0, appends ? SEEK_END : SEEK_CUR);
}

ssize_t write(int fd, const void *data, size_t length) {
  char path[PATH_LENGTH];
  int error, half;
  ssize_t done;
  start();
  if (!watched(path_of(fd, path))) return real_write(fd, data, length);
  if ((error = enter('w', path, position(fd), data, length, &half))) return refuse(error);
  done = real_write(fd, data, half ? length / 2 : length);
  leave();
  return done;
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  char path[PATH_LENGTH];
  int error, half;
  ssize_t done;
  start();
  if (!watched(path_of(fd, path))) return real_pwrite(fd, data, length, offset);
  if ((error = enter('w', path, (uint64_t)offset, data, length, &half))) return refuse(error);
  done = real_pwrite(fd, data, half ? length / 2 : length, offset);
  leave();
  return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

static int sync_file(int fd, int (*real)(int)) {
  char path[PATH_LENGTH];
  int error, half;
  if (!watched(path_of(fd, path))) return real(fd);
  if ((error = enter('s', path, 0, "", 0, &half))) return refuse(error);
  /* Programs are killed here, not machines: the page cache survives, and a sync would only take time. */
  leave();
  return 0;
}

int fsync(int fd) {
  start();
  return sync_file(fd, real_fsync);
}

int fdatasync(int fd) {
  start();
  return sync_file(fd, real_fdatasync);
}

int ftruncate64(int fd, off64_t length) {
  char path[PATH_LENGTH];
  int error, half, done;
  start();
  if (!watched(path_of(fd, path))) return real_ftruncate(fd, length);
  if ((error = enter('t', path, (uint64_t)length, "", 0, &half))) return refuse(error);
  done = real_ftruncate(fd, length);
  leave();
  return done;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int unlink(const char *path) {
  int error, half, done;
  start();
  if (!watched(path)) return real_unlink(path);
  if ((error = enter('u', path, 0, "", 0, &half))) return refuse(error);
  done = real_unlink(path);
  leave();
  return done;
}

int rename(const char *from, const char *to) {
  int error, half, done;
  start();
  if (!watched(from) && !watched(to)) return real_rename(from, to);
  if ((error = enter('r', from, 0, to, strlen(to), &half))) return refuse(error);
  done = half ? 0 : real_rename(from, to);
  leave();
  return done;
}

/* Opening counts if it creates a file. */
static int creates(const char *path, int flags) {
  return (flags & O_CREAT) && watched(path) && access(path, F_OK) != 0;
}

static int create(const char *path, int flags, mode_t mode) {
  int error, half, done;
  if ((error = enter('c', path, 0, "", 0, &half))) return refuse(error);
  done = real_open(path, flags, mode);
  leave();
  return done;
}

#define MODE(flags)                           \
  mode_t mode = 0;                            \
  if ((flags) & (O_CREAT | O_TMPFILE)) {      \
    va_list rest;                             \
    va_start(rest, flags);                    \
    mode = va_arg(rest, mode_t);              \
    va_end(rest);                             \
  }                                           \
  start();

int open64(const char *path, int flags, ...) {
  MODE(flags)
  return creates(path, flags) ? create(path, flags, mode) : real_open(path, flags, mode);
}

int open(const char *path, int flags, ...) {
  MODE(flags)
  return creates(path, flags) ? create(path, flags, mode) : real_open(path, flags, mode);
}

int openat64(int directory, const char *path, int flags, ...) {
  MODE(flags)
  if (directory == AT_FDCWD && creates(path, flags)) return create(path, flags, mode);
  return real_openat(directory, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
  MODE(flags)
  if (directory == AT_FDCWD && creates(path, flags)) return create(path, flags, mode);
  return real_openat(directory, path, flags, mode);
}
