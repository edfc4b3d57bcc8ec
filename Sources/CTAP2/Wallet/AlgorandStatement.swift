/// What an Algorand account signs for a dApp: bytes behind the prefix that says what they are.
public enum AlgorandStatement: Sendable, Equatable {
  /// A transaction in canonical msgpack.
  case transaction([UInt8])
  /// Any bytes, which with their prefix can be no transaction, no program and no challenge.
  case message([UInt8])

  /// What the signature is over: "TX" or "MX", and the bytes.
  var signingInput: [UInt8] {
    switch self {
    case .transaction(let bytes): Array("TX".utf8) + bytes
    case .message(let bytes): Array("MX".utf8) + bytes
    }
  }
}
