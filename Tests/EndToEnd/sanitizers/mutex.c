// Tells the thread sanitizer what Swift's Mutex does while another thread holds it: scripts/sanitize preloads this.
//
// The fast path of Mutex is compiled into each module, where the sanitizer sees its atomic operations. The slow path is in
// libswiftSynchronization, which is not instrumented, and ends in the kernel (FUTEX_LOCK_PI): without these calls, the
// sanitizer would report later accesses to the protected value as races.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#define SWIFTCALL __attribute__((swiftcall))
#define CONTEXT __attribute__((swift_context))

// Absent in a program without the sanitizer.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

// Synchronization._MutexHandle._lockSlow(Swift.UInt32)
SWIFTCALL void lock_slow(uint32_t owner, CONTEXT void *mutex) __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
// Synchronization._MutexHandle._tryLockSlow() -> Swift.Bool
SWIFTCALL bool try_lock_slow(CONTEXT void *mutex) __asm__("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
// Synchronization._MutexHandle._unlockSlow()
SWIFTCALL void unlock_slow(CONTEXT void *mutex) __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");

SWIFTCALL void lock_slow(uint32_t owner, CONTEXT void *mutex) {
  SWIFTCALL void (*next)(uint32_t, CONTEXT void *) = dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
  next(owner, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFTCALL bool try_lock_slow(CONTEXT void *mutex) {
  SWIFTCALL bool (*next)(CONTEXT void *) = dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
  bool locked = next(mutex);
  if (locked && __tsan_acquire) __tsan_acquire(mutex);
  return locked;
}

SWIFTCALL void unlock_slow(CONTEXT void *mutex) {
  SWIFTCALL void (*next)(CONTEXT void *) = dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
  if (__tsan_release) __tsan_release(mutex);
  next(mutex);
}
