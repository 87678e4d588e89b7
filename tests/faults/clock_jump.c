// A library to preload (LD_PRELOAD) that gives a process a wall clock of its own, which can be set.
//
// FAULTS_CLOCK names a file of eight bytes: the nanoseconds, as a signed number, by which the wall
// clock of the process is ahead of the machine's. Whoever changes the file sets the clock.
//
// Waits until a wall time follow the clock as they do in the kernel: if the clock is set forwards
// they end early, and if it is set back they last longer. CLOCK_MONOTONIC and the times of files are
// the machine's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t kSecond = 1000000000;
// The longest wait in the kernel, after which the clock is read again.
static const int64_t kSlice = 100000000;

static const volatile int64_t* ahead;  // null: the library does nothing

static void Begin(void) __attribute__((constructor));
static void Begin(void) {
  const char* name = getenv("FAULTS_CLOCK");
  if (name == NULL) return;
  const int file = open(name, O_RDONLY | O_CLOEXEC);
  void* mapped =
      file < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) {
    dprintf(STDERR_FILENO, "clock_jump: %s: %s\n", name, strerror(errno));
    abort();
  }
  close(file);
  ahead = mapped;
}

static int64_t Ahead(void) { return ahead == NULL ? 0 : *ahead; }

static int64_t ToNanoseconds(const struct timespec* time) {
  return time->tv_sec * kSecond + time->tv_nsec;
}

static struct timespec FromNanoseconds(int64_t time) {
  return (struct timespec){.tv_sec = time / kSecond, .tv_nsec = time % kSecond};
}

static void* Next(const char* name, const char* version) {
  void* found = version == NULL ? dlsym(RTLD_NEXT, name) : dlvsym(RTLD_NEXT, name, version);
  if (found == NULL) abort();
  return found;
}

static int MachineTime(clockid_t clock, struct timespec* time) {
  static int (*next)(clockid_t, struct timespec*);
  if (next == NULL) next = (int (*)(clockid_t, struct timespec*))Next("clock_gettime", NULL);
  return next(clock, time);
}

static int64_t MachineWallTime(void) {
  struct timespec time;
  MachineTime(CLOCK_REALTIME, &time);
  return ToNanoseconds(&time);
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  const int done = MachineTime(clock, time);
  if (done == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    *time = FromNanoseconds(ToNanoseconds(time) + Ahead());
  }
  return done;
}

int gettimeofday(struct timeval* time, void* zone) {
  (void)zone;
  const int64_t now = MachineWallTime() + Ahead();
  time->tv_sec = now / kSecond;
  time->tv_usec = now % kSecond / 1000;
  return 0;
}

time_t time(time_t* result) {
  const time_t now = (MachineWallTime() + Ahead()) / kSecond;
  if (result != NULL) *result = now;
  return now;
}

// The machine's wall time at which a wait until `deadline`, on the clock of the process, looks at
// the clock again.
static struct timespec EndOfSlice(int64_t deadline) {
  int64_t left = deadline - (MachineWallTime() + Ahead());
  if (left < 0) left = 0;
  return FromNanoseconds(MachineWallTime() + (left < kSlice ? left : kSlice));
}

static int HasPassed(int64_t deadline) { return MachineWallTime() + Ahead() >= deadline; }

// absl::Mutex waits by this call, and so do gRPC's timers.
long syscall(long number, ...) {
  static long (*next)(long, ...);
  if (next == NULL) next = (long (*)(long, ...))Next("syscall", NULL);
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (int i = 0; i < 6; ++i) arguments[i] = va_arg(list, long);
  va_end(list);
  const struct timespec* timeout = (const struct timespec*)arguments[3];
  const long operation = arguments[1];
  const int is_wait = number == SYS_futex && (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET &&
                      (operation & FUTEX_CLOCK_REALTIME) != 0;
  if (ahead == NULL || !is_wait || timeout == NULL) {
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
  }
  const int64_t deadline = ToNanoseconds(timeout);
  while (1) {
    const struct timespec slice = EndOfSlice(deadline);
    const long done =
        next(number, arguments[0], operation, arguments[2], &slice, arguments[4], arguments[5]);
    if (done == 0 || errno != ETIMEDOUT || HasPassed(deadline)) return done;
  }
}

// Returns 0 after a slice: callers must expect wake-ups without a cause.
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const struct timespec* timeout) {
  static int (*next)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
  if (next == NULL) {
    next = (int (*)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*))Next(
        "pthread_cond_timedwait", "GLIBC_2.3.2");
  }
  // glibc's bit for a condition variable whose clock is CLOCK_MONOTONIC.
  const int is_monotonic = (condition->__data.__wrefs & 2) != 0;
  if (ahead == NULL || is_monotonic) return next(condition, mutex, timeout);
  const int64_t deadline = ToNanoseconds(timeout);
  const struct timespec slice = EndOfSlice(deadline);
  const int done = next(condition, mutex, &slice);
  return done == ETIMEDOUT && !HasPassed(deadline) ? 0 : done;
}
