import CSodium
import Synchronization

/// A piece of memory for secrets, from `sodium_malloc`: between guard pages, locked, left out of core dumps.
///
/// Allocating and freeing a piece takes ten system calls, more time than a signature. So the last pieces that were
/// given back are kept, wiped, for the next secrets of their size.
struct GuardedMemory: @unchecked Sendable {
  /// The most pieces that are kept, each a locked page between guards.
  private static let capacity = 8

  private static let kept = Mutex<[GuardedMemory]>([])

  /// Whether the system has refused to lock a piece in this process.
  private static let wasLockRefused = Atomic(false)

  /// Whether every piece so far was locked.
  static var isLocked: Bool { !wasLockRefused.load(ordering: .relaxed) }

  /// Written by one thread, between `take` and `protect`.
  let bytes: UnsafeMutableRawBufferPointer

  /// A piece of `count` zeroed bytes.
  static func take(_ count: Int) -> GuardedMemory {
    let found = kept.withLock { kept in
      kept.lastIndex { $0.bytes.count == count }.map { kept.remove(at: $0) }
    }
    return found ?? make(count)
  }

  private static func make(_ count: Int) -> GuardedMemory {
    Sodium.start()
    guard let address = sodium_malloc(count) else {
      fatalError("out of memory: cannot allocate \(count) guarded bytes")  // as Swift's own allocator does
    }
    sodium_memzero(address, count)
    // `sodium_malloc` does not report a failed lock; a page that is locked again does not count twice against the
    // limit.
    if sodium_mlock(address, count) != 0 { wasLockRefused.store(true, ordering: .relaxed) }
    return GuardedMemory(bytes: UnsafeMutableRawBufferPointer(start: address, count: count))
  }

  /// Makes the memory read-only: a later write ends the process.
  func protect() { _ = bytes.baseAddress.map(sodium_mprotect_readonly) }

  /// Wipes the unused piece, and keeps it instead of the oldest kept one.
  func giveBack() {
    _ = bytes.baseAddress.map(sodium_mprotect_readwrite)
    sodium_memzero(bytes.baseAddress, bytes.count)
    let oldest = Self.kept.withLock { kept in
      kept.append(self)
      return kept.count > Self.capacity ? kept.removeFirst() : nil
    }
    if let oldest { sodium_free(oldest.bytes.baseAddress) }
  }
}

extension SecretBytes {
  /// Whether all memory for secrets in this process was locked: without the lock, secrets may be written to swap space.
  ///
  /// False once the system has refused a lock: the limit of locked memory (`RLIMIT_MEMLOCK`) was used up.
  public static var areLocked: Bool { GuardedMemory.isLocked && OpenSSL.isHeapLocked }
}
