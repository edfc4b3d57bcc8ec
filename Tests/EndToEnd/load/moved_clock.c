// Moves the clocks of one program, and shows how long its threads sleep: LD_PRELOAD, see moved_clock.py.
//
// The clocks are ahead by `offset`, as after a suspend. A poll(2) with a time limit ends by the moved clock.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SLEEPERS = 64, SIZE = 4096 };
static const int64_t PIECE = 10;  // ms between two looks at the moved clock

struct sleeper {
  _Atomic int32_t thread;   // 0: free
  _Atomic int32_t timeout;  // as poll(2) was called, ms
};

struct shared {
  _Atomic int64_t offset;    // ns
  _Atomic uint64_t returns;  // of poll(2), in all threads
  struct sleeper sleepers[SLEEPERS];
};

static struct shared *shared;
static int (*real_clock)(clockid_t, struct timespec *);
static int (*real_poll)(struct pollfd *, nfds_t, int);

__attribute__((constructor)) static void start(void) {
  real_clock = dlsym(RTLD_NEXT, "clock_gettime");
  real_poll = dlsym(RTLD_NEXT, "poll");
  const char *path = getenv("MOVED_CLOCK");
  const int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  void *memory = file < 0 ? MAP_FAILED : mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED || !real_clock || !real_poll) abort();
  close(file);
  shared = memory;
  // The programs that this one starts have the clock of the system.
  unsetenv("LD_PRELOAD");
  unsetenv("MOVED_CLOCK");
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  const int result = real_clock(clock, time);
  if (result || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)) return result;
  const int64_t nanoseconds = time->tv_nsec + shared->offset;
  time->tv_sec += nanoseconds / 1000000000;
  time->tv_nsec = nanoseconds % 1000000000;
  return 0;
}

static int64_t milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int poll(struct pollfd *descriptors, nfds_t count, int timeout) {
  struct sleeper *own = NULL;
  for (int index = 0; index < SLEEPERS && !own; index += 1) {
    int32_t none = 0;
    if (atomic_compare_exchange_strong(&shared->sleepers[index].thread, &none, gettid())) own = &shared->sleepers[index];
  }
  if (!own) abort();
  own->timeout = timeout;
  const int64_t end = milliseconds() + timeout;
  int result;
  for (;;) {
    const int64_t left = timeout < 0 ? -1 : end - milliseconds();
    result = real_poll(descriptors, count, timeout < 0 ? -1 : left < 0 ? 0 : left < PIECE ? (int)left : (int)PIECE);
    if (result || timeout == 0 || (timeout > 0 && end <= milliseconds())) break;
  }
  own->thread = 0;
  shared->returns += 1;
  return result;
}
