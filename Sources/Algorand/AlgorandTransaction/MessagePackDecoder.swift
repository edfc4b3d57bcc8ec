/// Decodes the canonical form that Algorand's nodes write, and refuses any other.
///
/// ``MessagePack/encoded`` turns a decoded value into the same bytes.
struct MessagePackDecoder {
  /// How many arrays and maps may be open at once: a transaction has 4 (`al` → `h`), a signed one 5.
  static let maximumDepth = 8

  private var rest: ArraySlice<UInt8>
  private var depth = 0

  /// Decodes exactly one value.
  ///
  /// - Throws: ``TransactionError`` for what is not canonical: a head that is longer than needed, keys that are out of
  ///   order, twice or not ASCII text, a member that is zero or empty, another kind of value, bytes behind it.
  static func decode(_ bytes: [UInt8]) throws(TransactionError) -> MessagePack {
    guard bytes.count <= Transaction.maximumSize else { throw .tooLong }
    var decoder = MessagePackDecoder(rest: bytes[...])
    let value = try decoder.value()
    guard decoder.rest.isEmpty else { throw .trailingBytes }
    return value
  }

  private init(rest: ArraySlice<UInt8>) { self.rest = rest }

  private mutating func value() throws(TransactionError) -> MessagePack {
    let head = try read(1)[0]
    switch head {
    case 0x00...0x7F: return .unsigned(UInt64(head))
    case 0x80...0x8F: return try map(count: Int(head & 0x0F))
    case 0x90...0x9F: return try array(count: Int(head & 0x0F))
    case 0xA0...0xBF: return .text(try text(count: Int(head & 0x1F)))
    case 0xC2, 0xC3: return .bool(head == 0xC3)
    case 0xC4...0xC6: return .bytes(try read(try length(width: 1 << (head - 0xC4), atLeast: 0)))
    case 0xCC...0xCF: return .unsigned(try number(width: 1 << (head - 0xCC), atLeast: 0x80))
    case 0xD9...0xDB: return .text(try text(count: try length(width: 1 << (head - 0xD9), atLeast: 32)))
    case 0xDC, 0xDD: return try array(count: try length(width: 2 << (head - 0xDC), atLeast: 16, shortest: 2))
    case 0xDE, 0xDF: return try map(count: try length(width: 2 << (head - 0xDE), atLeast: 16, shortest: 2))
    default: throw .unsupportedValue(head)
    }
  }

  private mutating func array(count: Int) throws(TransactionError) -> MessagePack {
    try open()
    var elements: [MessagePack] = []
    for _ in 0..<count { elements.append(try value()) }
    depth -= 1
    return .array(elements)
  }

  private mutating func map(count: Int) throws(TransactionError) -> MessagePack {
    try open()
    var members: [MessagePack.Member] = []
    for _ in 0..<count {
      guard case .text(let key) = try value() else { throw .keyIsNoText }
      // No transaction has a member with such a key. From here on, keys are compared as bytes.
      guard key.utf8.allSatisfy({ $0 < 0x80 }) else { throw .unknownMember(key) }
      if let last = members.last?.key {
        guard last != key else { throw .duplicateMember(key) }
        guard last.utf8.lexicographicallyPrecedes(key.utf8) else { throw .keysOutOfOrder(key) }
      }
      let value = try value()
      guard !value.isZero else { throw .zeroMember(key) }
      members.append(MessagePack.Member(key: key, value: value))
    }
    depth -= 1
    return .map(members)
  }

  private mutating func open() throws(TransactionError) {
    depth += 1
    guard depth <= Self.maximumDepth else { throw .tooDeep }
  }

  private mutating func text(count: Int) throws(TransactionError) -> String {
    guard let text = String(validating: try read(count), as: UTF8.self) else { throw .invalidText }
    return text
  }

  private mutating func length(width: Int, atLeast least: UInt64, shortest: Int = 1) throws(TransactionError) -> Int {
    Int(try number(width: width, atLeast: least, shortest: shortest))
  }

  /// A number of `width` bytes that does not fit a shorter head; `least` is the first that needs the shortest width.
  private mutating func number(
    width: Int, atLeast least: UInt64, shortest: Int = 1
  ) throws(TransactionError) -> UInt64 {
    let number = try read(width).reduce(0) { $0 << 8 | UInt64($1) }
    guard number >= (width == shortest ? least : 1 << UInt64(4 * width)) else { throw .notShortest }
    return number
  }

  private mutating func read(_ count: Int) throws(TransactionError) -> [UInt8] {
    guard count <= rest.count else { throw .truncated }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }
}
