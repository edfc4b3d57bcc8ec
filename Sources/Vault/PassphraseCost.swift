/// How dear one try of a passphrase is: the two limits of Argon2id 1.3, as libsodium counts them.
public struct PassphraseCost: Hashable, Sendable {
  /// Passes over the memory.
  public let opsLimit: UInt64
  /// Memory in bytes, whole KiB.
  public let memLimit: UInt64

  /// What new slots use: three passes over 256 MiB (Recovery §1).
  public static let standard = PassphraseCost(trusted: 3, 268_435_456)

  /// Takes limits within what a vault may ask for (Recovery §1): at most 16 passes, at most 2^30 bytes.
  ///
  /// - Throws: ``VaultError/limitExceeded(_:)`` above, ``VaultError/damaged(_:)`` for what Argon2id cannot do: less than
  ///   one pass or 8 KiB, or parts of a KiB.
  public init(opsLimit: UInt64, memLimit: UInt64) throws(VaultError) {
    guard opsLimit <= 16 else { throw .limitExceeded("a slot asks for \(opsLimit) passes, 16 is the most") }
    guard memLimit <= 1 << 30 else { throw .limitExceeded("a slot asks for \(memLimit) bytes, 2^30 is the most") }
    guard opsLimit >= 1, memLimit >= 8192 else { throw .damaged("a slot asks for less than Argon2id can do") }
    // Argon2id counts KiB: libsodium drops the rest, so that damage there would go unseen.
    guard memLimit.isMultiple(of: 1024) else { throw .damaged("a slot's memory is no whole number of KiB") }
    self.init(trusted: opsLimit, memLimit)
  }

  private init(trusted opsLimit: UInt64, _ memLimit: UInt64) {
    self.opsLimit = opsLimit
    self.memLimit = memLimit
  }
}
