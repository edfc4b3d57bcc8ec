import CSodium

/// Bytes that must not leak: a phrase, a key, a seed.
///
/// The bytes are in their own memory between guard pages, locked against swapping, left out of core dumps,
/// read-only once they are filled, and wiped when the last reference goes. Where the limit of locked memory
/// (`RLIMIT_MEMLOCK`) is exhausted, `sodium_malloc` continues without the lock: everything else still applies, and
/// ``areLocked`` is false.
///
/// One instance costs a page and system calls. Use it for secrets that are kept, and `withWipedBytes(count:_:)` for a
/// secret of one call.
public final class SecretBytes: Sendable {
  /// Never written again after `init`, so any thread may read it.
  private let memory: GuardedMemory

  /// Allocates `count` zeroed bytes and lets `fill` write them once.
  ///
  /// If `fill` throws, the bytes are wiped, and the error is rethrown.
  public init<E: Error>(
    count: Int, filledBy fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void
  ) throws(E) {
    memory = GuardedMemory.take(count)
    // If this throws, `deinit` runs, because every property is initialised.
    try fill(memory.bytes)
    memory.protect()
  }

  deinit { memory.giveBack() }

  /// Copies bytes; the caller wipes its own copy.
  public convenience init(copying bytes: UnsafeRawBufferPointer) {
    self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
  }

  /// Takes a secret that enters the program out of an array: copies, wipes and empties the array.
  ///
  /// The array must not share its storage: Swift would copy it, and wipe only the copy.
  public convenience init(consuming bytes: inout [UInt8]) {
    self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    wipe(&bytes)
  }

  /// Fresh bytes from the system's generator.
  public static func random(count: Int) -> SecretBytes {
    SecretBytes(count: count) { randombytes_buf($0.bytes, $0.count) }
  }

  /// The number of bytes.
  public var count: Int { memory.bytes.count }

  /// Lends the bytes for the duration of `body`, which must not let the pointer or a copy escape.
  public func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try body(UnsafeRawBufferPointer(memory.bytes))
  }

  /// Whether both hold the same bytes; the time depends only on the lengths.
  public func isEqual(to other: SecretBytes) -> Bool {
    count == other.count && sodium_memcmp(memory.bytes.baseAddress, other.memory.bytes.baseAddress, count) == 0
  }
}

extension SecretBytes: Equatable {
  /// Compares as ``isEqual(to:)`` does.
  public static func == (a: SecretBytes, b: SecretBytes) -> Bool { a.isEqual(to: b) }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
  /// The length only, so that string interpolation does not reveal the secret.
  public var description: String { "SecretBytes(\(count))" }

  /// No children, so that a dump shows only ``description``.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Lends `count` zeroed bytes of scratch memory for a secret that must not outlive the call, and wipes them afterwards.
package func withWipedBytes<R, E: Error>(
  count: Int, _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
) throws(E) -> R {
  // Swift 6.2 has this function without typed throws.
  try withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { scratch in
    sodium_memzero(scratch.baseAddress, scratch.count)
    defer { sodium_memzero(scratch.baseAddress, scratch.count) }
    return Result { () throws(E) in try body(scratch) }
  }.get()
}

/// Overwrites and empties an array that holds secrets and is too large for locked memory.
///
/// The array must not share its storage: Swift would copy it, and wipe only the copy.
public func wipe(_ bytes: inout [UInt8]) {
  bytes.withUnsafeMutableBytes { sodium_memzero($0.baseAddress, $0.count) }
  bytes = []
}

/// Starts libsodium, once in a process.
enum Sodium {
  private static let started: Void = {
    guard sodium_init() >= 0 else { fatalError("libsodium cannot start: the system gives no random bytes") }
  }()

  static func start() { started }
}
