import CBOR
package import CryptoPrimitives

/// The state row's data for the counter in the TPM that finds an old copy of the store (Recovery §6).
public struct StoreCounter: Sendable, Equatable {
  /// Its NV index.
  public let index: UInt32
  /// Its auth value, 32 random bytes.
  package let auth: SecretBytes
  /// The value of the counter after the last opening of the store.
  public package(set) var value: UInt64

  /// The length of the auth value, in bytes.
  private static let authLength = 32

  /// `nil` for an auth value of another length than 32 bytes.
  package init?(index: UInt32, auth: SecretBytes, value: UInt64) {
    guard auth.count == Self.authLength else { return nil }
    (self.index, self.auth, self.value) = (index, auth, value)
  }

  /// The result of a comparison of the store with a value of the counter.
  public enum Comparison: Sendable, Equatable {
    /// The store is the newest one.
    case newest
    /// The store is an old copy, after which the store was opened this many times, at least once; the last of these openings
    /// may have been interrupted.
    case oldCopy(openings: UInt64)
    /// The counter is lower than the stored value: the state of the TPM was set back.
    case counterWentBack
  }

  /// Compares the store with the counter.
  public func compared(with value: UInt64) -> Comparison {
    if value == self.value { return .newest }
    return value > self.value ? .oldCopy(openings: value - self.value) : .counterWentBack
  }
}

// MARK: - CBOR

extension StoreCounter {
  private enum Key {
    static let index: CBORValue = 1
    static let auth: CBORValue = 2
    static let value: CBORValue = 3
    static let all: [CBORValue] = [index, auth, value]
  }

  /// {1: index, 2: zeros for the auth value, 3: value}.
  var members: CBORMap {
    [Key.index: .unsigned(UInt64(index)), Key.auth: .zeros(for: auth), Key.value: .unsigned(value)]
  }

  /// - Parameter auth: the auth value, for which the map has zeros.
  init(_ map: CBORMap, auth: SecretBytes?) throws(CBORError) {
    try map.refuseOtherKeys(Key.all.contains)
    _ = try map.requiredBytes(Key.auth)
    let (index, value): (UInt32, UInt64) = (try map.requiredInteger(Key.index), try map.requiredInteger(Key.value))
    guard let auth, let counter = StoreCounter(index: index, auth: auth, value: value) else {
      throw .invalid("an auth value of another length")
    }
    self = counter
  }
}
