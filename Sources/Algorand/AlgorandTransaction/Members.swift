import DeterministicKeys

/// The members of a map, each read once; ``finish()`` refuses those that were not read.
struct Members {
  private var rest: [MessagePack.Member]
  /// The prefix of member names in errors, such as `apar.`.
  private let path: String

  /// Takes a map.
  ///
  /// - Parameter name: the member that holds the map; empty for the outermost map.
  init(_ value: MessagePack, of name: String = "") throws(TransactionError) {
    guard case .map(let members) = value else { throw name.isEmpty ? .notAMap : .wrongType(name) }
    rest = members
    path = name.isEmpty ? "" : name + "."
  }

  /// Refuses members that have not been read.
  func finish() throws(TransactionError) {
    if let unread = rest.first { throw .unknownMember(path + unread.key) }
  }

  /// The value of a member; `nil` if it is not there.
  mutating func value(_ key: String) -> MessagePack? {
    rest.firstIndex { $0.key == key }.map { rest.remove(at: $0).value }
  }

  /// A number; 0 if it is not there.
  mutating func unsigned(_ key: String, upTo maximum: UInt64 = .max) throws(TransactionError) -> UInt64 {
    guard let value = value(key) else { return 0 }
    guard case .unsigned(let number) = value else { throw .wrongType(path + key) }
    guard number <= maximum else { throw .outOfRange(path + key) }
    return number
  }

  /// A truth value; `false` if it is not there.
  mutating func bool(_ key: String) throws(TransactionError) -> Bool {
    guard let value = value(key) else { return false }
    guard case .bool(let truth) = value else { throw .wrongType(path + key) }
    return truth
  }

  /// A text; empty if it is not there.
  mutating func text(_ key: String) throws(TransactionError) -> String {
    guard let value = value(key) else { return "" }
    guard case .text(let text) = value else { throw .wrongType(path + key) }
    return text
  }

  /// Bytes of any number; none if the member is not there.
  mutating func bytes(_ key: String) throws(TransactionError) -> [UInt8] {
    guard let value = value(key) else { return [] }
    return try Self.bytes(value, of: path + key)
  }

  /// Bytes of a fixed count; all zeros are refused, since the canonical form leaves them out.
  mutating func bytes(_ key: String, count: Int) throws(TransactionError) -> [UInt8]? {
    guard let value = value(key) else { return nil }
    let bytes = try Self.bytes(value, of: path + key)
    guard bytes.count == count else { throw .wrongLength(path + key) }
    guard bytes.contains(where: { $0 != 0 }) else { throw .zeroMember(path + key) }
    return bytes
  }

  /// An address, 32 bytes; the zero address is refused.
  mutating func address(_ key: String) throws(TransactionError) -> AlgorandAddress? {
    try bytes(key, count: 32).map(AlgorandAddress.init(publicKey:))
  }

  /// The members of a nested map; `nil` if it is not there.
  mutating func members(_ key: String) throws(TransactionError) -> Members? {
    guard let value = value(key) else { return nil }
    return try Members(value, of: path + key)
  }

  /// The elements of an array, at most `maximum`, each read by `read` with its name; none if the array is not there.
  mutating func array<Element>(
    _ key: String, upTo maximum: Int, _ read: (MessagePack, String) throws(TransactionError) -> Element
  ) throws(TransactionError) -> [Element] {
    guard let value = value(key) else { return [] }
    guard case .array(let elements) = value else { throw .wrongType(path + key) }
    guard elements.count <= maximum else { throw .outOfRange(path + key) }
    var result: [Element] = []
    for element in elements { result.append(try read(element, path + key)) }
    return result
  }

  /// Unwraps the value of a required member.
  func required<T>(_ key: String, _ value: T?) throws(TransactionError) -> T {
    guard let value else { throw .missingMember(path + key) }
    return value
  }
}

// Elements of an array may be zero: the canonical form leaves out only members of maps.
extension Members {
  static func unsigned(_ value: MessagePack, of name: String) throws(TransactionError) -> UInt64 {
    guard case .unsigned(let number) = value else { throw .wrongType(name) }
    return number
  }

  static func bytes(_ value: MessagePack, of name: String) throws(TransactionError) -> [UInt8] {
    guard case .bytes(let bytes) = value else { throw .wrongType(name) }
    return bytes
  }

  static func address(_ value: MessagePack, of name: String) throws(TransactionError) -> AlgorandAddress {
    let bytes = try bytes(value, of: name)
    guard bytes.count == 32 else { throw .wrongLength(name) }
    return AlgorandAddress(publicKey: bytes)
  }
}
