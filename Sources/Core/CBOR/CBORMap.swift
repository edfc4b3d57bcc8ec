/// A CBOR map that is always in canonical order.
///
/// A caller cannot set the order, so every encoded map is canonical (CTAP §8).
public struct CBORMap: Hashable, Sendable {
  /// One member of a map.
  public struct Pair: Hashable, Sendable {
    public let key: CBORValue
    public let value: CBORValue
  }

  /// All members, in canonical order.
  public private(set) var pairs: [Pair] = []

  /// Makes an empty map.
  public init() {}

  /// Makes an empty map with room for `capacity` members.
  init(capacity: Int) { pairs.reserveCapacity(capacity) }

  /// Makes a map of pairs in any order; of two with the same key, the last is kept.
  public init(_ pairs: some Sequence<(CBORValue, CBORValue)>) {
    self.init(capacity: pairs.underestimatedCount)
    for (key, value) in pairs { self[key] = value }
  }

  /// Adds a member after all others; returns `false` and changes nothing if its key does not sort after theirs.
  mutating func append(_ value: CBORValue, forKey key: CBORValue) -> Bool {
    if let last = pairs.last, !CBORValue.precedes(last.key, key) { return false }
    pairs.append(Pair(key: key, value: value))
    return true
  }

  /// The number of members.
  public var count: Int { pairs.count }

  /// Whether there are no members.
  public var isEmpty: Bool { pairs.isEmpty }

  /// The value of a key; setting `nil` removes the member.
  public subscript(key: CBORValue) -> CBORValue? {
    get { pairs.first { $0.key == key }?.value }
    set {
      if let newValue, append(newValue, forKey: key) { return }
      let start = position(of: key)
      let end = start < pairs.count && pairs[start].key == key ? start + 1 : start
      pairs.replaceSubrange(start..<end, with: newValue.map { [Pair(key: key, value: $0)] } ?? [])
    }
  }

  /// The first index whose key is not before the given one.
  private func position(of key: CBORValue) -> Int {
    var low = 0
    var high = pairs.count
    while low < high {
      let middle = (low + high) / 2
      if CBORValue.precedes(pairs[middle].key, key) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension CBORMap: ExpressibleByDictionaryLiteral {
  /// Makes a map of pairs in any order; a pair with the value `nil` is omitted.
  public init(dictionaryLiteral pairs: (CBORValue, CBORValue?)...) {
    self.init(capacity: pairs.count)
    for case (let key, let value?) in pairs { self[key] = value }
  }
}

// MARK: - Typed look-ups

/// `required…` throws ``CBORError/missing(_:)`` when there is no such member, `optional…` returns `nil`; both throw
/// ``CBORError/unexpectedType(_:)`` when the member has another type.
extension CBORMap {
  /// The unsigned integer of a member that must be there.
  public func requiredUnsigned(_ key: CBORValue) throws(CBORError) -> UInt64 { try present(key, optionalUnsigned(key)) }
  /// The unsigned integer of a member that may be absent.
  public func optionalUnsigned(_ key: CBORValue) throws(CBORError) -> UInt64? {
    try typed(key, "an unsigned integer", \.unsigned)
  }

  /// The signed 64-bit integer of a member that must be there.
  public func requiredInt(_ key: CBORValue) throws(CBORError) -> Int64 { try present(key, optionalInt(key)) }
  /// The signed 64-bit integer of a member that may be absent.
  public func optionalInt(_ key: CBORValue) throws(CBORError) -> Int64? {
    try typed(key, "an integer of 64 bits", \.int)
  }

  /// The byte string of a member that must be there.
  public func requiredBytes(_ key: CBORValue) throws(CBORError) -> [UInt8] { try present(key, optionalBytes(key)) }
  /// The byte string of a member that may be absent.
  public func optionalBytes(_ key: CBORValue) throws(CBORError) -> [UInt8]? { try typed(key, "a byte string", \.bytes) }

  /// The text of a member that must be there.
  public func requiredText(_ key: CBORValue) throws(CBORError) -> String { try present(key, optionalText(key)) }
  /// The text of a member that may be absent.
  public func optionalText(_ key: CBORValue) throws(CBORError) -> String? { try typed(key, "a text", \.text) }

  /// The truth value of a member that must be there.
  public func requiredBool(_ key: CBORValue) throws(CBORError) -> Bool { try present(key, optionalBool(key)) }
  /// The truth value of a member that may be absent.
  public func optionalBool(_ key: CBORValue) throws(CBORError) -> Bool? { try typed(key, "a boolean", \.bool) }

  /// The array of a member that must be there.
  public func requiredArray(_ key: CBORValue) throws(CBORError) -> [CBORValue] { try present(key, optionalArray(key)) }
  /// The array of a member that may be absent.
  public func optionalArray(_ key: CBORValue) throws(CBORError) -> [CBORValue]? { try typed(key, "an array", \.array) }

  /// The map of a member that must be there.
  public func requiredMap(_ key: CBORValue) throws(CBORError) -> CBORMap { try present(key, optionalMap(key)) }
  /// The map of a member that may be absent.
  public func optionalMap(_ key: CBORValue) throws(CBORError) -> CBORMap? { try typed(key, "a map", \.map) }

  private func typed<T>(
    _ key: CBORValue, _ kind: String, _ read: (CBORValue) -> T?
  ) throws(CBORError) -> T? {
    guard let value = self[key] else { return nil }
    guard let content = read(value) else { throw .unexpectedType("\(Self.name(of: key)) is not \(kind)") }
    return content
  }

  private func present<T>(_ key: CBORValue, _ value: T?) throws(CBORError) -> T {
    guard let value else { throw .missing(Self.name(of: key)) }
    return value
  }

  /// The name of a member in an error; the key comes from the source code, so it is not secret.
  private static func name(of key: CBORValue) -> String {
    if case .text(let text) = key { "member \"\(text)\"" } else { "member \(key)" }
  }
}
