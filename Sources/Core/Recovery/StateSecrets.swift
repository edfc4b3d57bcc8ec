import CBOR
import CryptoPrimitives

/// The secrets of the state row.
///
/// They are copied directly between the plaintext and locked memory. The row's map is in ordinary memory, and has zeros
/// in their place.
struct StateSecrets {
  /// Member 5, the hash of the PIN.
  private(set) var pinHash: SecretBytes?
  /// Member 12, the token of permission pcmr.
  private(set) var persistentToken: SecretBytes?
  /// Member 2 of member 17, the auth value of the counter.
  private(set) var counterAuth: SecretBytes?

  /// Takes the secrets of a state.
  init(of state: StoreState) {
    pinHash = state.settings.pin?.hash
    persistentToken = state.settings.persistentToken
    counterAuth = state.counter?.auth
  }

  /// Takes the secrets out of a plaintext, and leaves zeros of the same length.
  init(taking plaintext: inout [UInt8]) throws(CBORError) {
    for (member, place) in try Self.places(in: plaintext) {
      plaintext.withUnsafeMutableBytes { bytes in
        let secret = UnsafeMutableRawBufferPointer(rebasing: bytes[place])
        self[keyPath: member] = SecretBytes(copying: UnsafeRawBufferPointer(secret))
        secret.initializeMemory(as: UInt8.self, repeating: 0)
      }
    }
  }

  /// Writes the secrets over the zeros in a plaintext.
  func fill(_ plaintext: inout [UInt8]) {
    for (member, place) in (try? Self.places(in: plaintext)) ?? [] {
      self[keyPath: member]?.withUnsafeBytes { secret in
        plaintext.withUnsafeMutableBytes {
          UnsafeMutableRawBufferPointer(rebasing: $0[place]).copyMemory(from: secret)
        }
      }
    }
  }

  private typealias Member = WritableKeyPath<StateSecrets, SecretBytes?>

  /// Where the secrets are in a plaintext.
  private static func places(in plaintext: [UInt8]) throws(CBORError) -> [(Member, Range<Int>)] {
    var places: [(Member, Range<Int>)] = []
    var cursor = CBORCursor(plaintext.indices)
    guard case .map(let count) = try cursor.next(in: plaintext) else { return [] }
    for _ in 0..<count {
      switch (try cursor.next(in: plaintext), try cursor.next(in: plaintext)) {
      case (.unsigned(5), .bytes(let place)): places.append((\.pinHash, place))
      case (.unsigned(12), .bytes(let place)): places.append((\.persistentToken, place))
      case (.unsigned(17), .map(let members)):
        for _ in 0..<members {
          switch (try cursor.next(in: plaintext), try cursor.next(in: plaintext)) {
          case (.unsigned(2), .bytes(let place)): places.append((\.counterAuth, place))
          case (_, let value): try cursor.skip(value, in: plaintext)
          }
        }
      case (_, let value): try cursor.skip(value, in: plaintext)
      }
    }
    return places
  }
}

extension CBORCursor {
  /// Skips the elements of an item whose head was read.
  fileprivate mutating func skip(_ item: Item, in bytes: [UInt8]) throws(CBORError) {
    var left = item.elementCount
    while left > 0 { left += try next(in: bytes).elementCount - 1 }
  }
}

extension CBORCursor.Item {
  /// The number of items that follow as elements.
  fileprivate var elementCount: Int {
    switch self {
    case .array(let count): count
    case .map(let count): 2 * count
    default: 0
    }
  }
}

extension CBORValue {
  /// As many zeros as the secret has bytes; ``StateSecrets/fill(_:)`` writes the secret over them.
  static func zeros(for secret: SecretBytes) -> CBORValue { .bytes([UInt8](repeating: 0, count: secret.count)) }
}
