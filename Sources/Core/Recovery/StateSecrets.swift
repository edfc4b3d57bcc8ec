import CBOR
import CryptoPrimitives
import DeterministicKeys

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
  /// Member 23, the keys for the passkeys of a Trezor.
  private(set) var slip22: SecretBytes?
  /// Member 4 of each element of member 22, the tokens of the pairings, in their order.
  private(set) var pairings: [SecretBytes] = []

  /// Takes the secrets of a state.
  init(of state: StoreState) {
    pinHash = state.settings.pin?.hash
    persistentToken = state.settings.persistentToken
    counterAuth = state.counter?.auth
    slip22 = state.slip22?.bytes
    pairings = state.pairings.all.map(\.credential)
  }

  /// Takes the secrets out of a plaintext, and leaves zeros of the same length.
  init(taking plaintext: inout [UInt8]) throws(CBORError) {
    for (member, place) in try Self.places(in: plaintext) {
      plaintext.withUnsafeMutableBytes { bytes in
        let secret = UnsafeMutableRawBufferPointer(rebasing: bytes[place])
        let copy = SecretBytes(copying: UnsafeRawBufferPointer(secret))
        switch member {
        case .single(let path): self[keyPath: path] = copy
        case .pairing: pairings.append(copy)
        }
        secret.initializeMemory(as: UInt8.self, repeating: 0)
      }
    }
  }

  /// Writes the secrets over the zeros in a plaintext.
  func fill(_ plaintext: inout [UInt8]) {
    var tokens = pairings.makeIterator()
    for (member, place) in (try? Self.places(in: plaintext)) ?? [] {
      let secret: SecretBytes? =
        switch member {
        case .single(let path): self[keyPath: path]
        case .pairing: tokens.next()
        }
      secret?.withUnsafeBytes { secret in
        plaintext.withUnsafeMutableBytes {
          UnsafeMutableRawBufferPointer(rebasing: $0[place]).copyMemory(from: secret)
        }
      }
    }
  }

  /// To whom a secret in a plaintext belongs.
  private enum Member {
    case single(WritableKeyPath<StateSecrets, SecretBytes?>)
    /// To the next of the pairings.
    case pairing
  }

  /// Where the secrets are in a plaintext.
  private static func places(in plaintext: [UInt8]) throws(CBORError) -> [(Member, Range<Int>)] {
    var places: [(Member, Range<Int>)] = []
    var cursor = CBORCursor(plaintext.indices)
    guard case .map(let count) = try cursor.next(in: plaintext) else { return [] }
    for _ in 0..<count {
      switch (try cursor.next(in: plaintext), try cursor.next(in: plaintext)) {
      case (.unsigned(5), .bytes(let place)): places.append((.single(\.pinHash), place))
      case (.unsigned(12), .bytes(let place)): places.append((.single(\.persistentToken), place))
      case (.unsigned(23), .bytes(let place)): places.append((.single(\.slip22), place))
      case (.unsigned(17), .map(let members)):
        for place in try cursor.places(of: 2, inMapOf: members, plaintext) {
          places.append((.single(\.counterAuth), place))
        }
      case (.unsigned(22), .array(let elements)):
        for _ in 0..<elements {
          switch try cursor.next(in: plaintext) {
          case .map(let members):
            for place in try cursor.places(of: 4, inMapOf: members, plaintext) { places.append((.pairing, place)) }
          case let element: try cursor.skip(element, in: plaintext)
          }
        }
      case (_, let value): try cursor.skip(value, in: plaintext)
      }
    }
    return places
  }
}

extension CBORCursor {
  /// Where the byte strings with a key are in a map whose head was read: one, unless the map is malformed.
  fileprivate mutating func places(
    of key: UInt64, inMapOf members: Int, _ bytes: [UInt8]
  ) throws(CBORError) -> [Range<Int>] {
    var places: [Range<Int>] = []
    for _ in 0..<members {
      switch (try next(in: bytes), try next(in: bytes)) {
      case (.unsigned(key), .bytes(let place)): places.append(place)
      case (_, let value): try skip(value, in: bytes)
      }
    }
    return places
  }

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
