import CBOR
import CryptoPrimitives

/// Reads a member; throws the failure to answer with.
func decoded<T>(_ member: @autoclosure () throws(CBORError) -> T) throws(ControlFailure) -> T {
  do { return try member() } catch { throw ControlFailure(error) }
}

extension CBORMap {
  /// Decodes the bytes after a command or status byte; no bytes are the empty map.
  init(decodingMembers bytes: [UInt8]) throws(ControlFailure) {
    guard !bytes.isEmpty else {
      self.init()
      return
    }
    guard let members = try decoded(CBORDecoder.decode(bytes)).map else {
      throw ControlFailure(.invalidCBOR, "the message is not a map")
    }
    self = members
  }

  /// The bytes after a command or status byte; none for the empty map.
  var encodedMembers: [UInt8] { isEmpty ? [] : CBOREncoder.encode(.map(self)) }

  /// Makes a map of the members that are not `nil`.
  init(present members: KeyValuePairs<CBORValue, CBORValue?>) {
    self.init()
    for (key, value) in members { self[key] = value }
  }

  /// Reads a list of texts; `name` names one of them in an error.
  func texts(_ key: CBORValue, _ name: String) throws(ControlFailure) -> [String] {
    var texts: [String] = []
    for value in try decoded(requiredArray(key)) {
      guard let text = value.text else { throw ControlFailure(.unexpectedType, "\(name) is not a text") }
      texts.append(text)
    }
    return texts
  }

  /// Reads a required text of 1 to `limit` bytes.
  func text(_ key: CBORValue, _ name: String, atMost limit: Int) throws(ControlFailure) -> String {
    let text = try decoded(requiredText(key))
    guard 1...limit ~= text.utf8.count else {
      throw ControlFailure(.invalidLength, "\(name) has \(text.utf8.count) bytes; it must have 1 to \(limit)")
    }
    return text
  }

  /// Reads an optional unsigned integer that fits its type.
  func integer<T: FixedWidthInteger>(_ key: CBORValue, as type: T.Type) throws(ControlFailure) -> T? {
    guard let number = try decoded(optionalUnsigned(key)) else { return nil }
    guard let value = T(exactly: number) else {
      throw ControlFailure(.invalidParameter, "member \(key) is out of range: \(number)")
    }
    return value
  }

  /// Reads a required unsigned integer that fits its type.
  func requiredInteger<T: FixedWidthInteger>(_ key: CBORValue, as type: T.Type) throws(ControlFailure) -> T {
    guard let value = try integer(key, as: type) else {
      throw ControlFailure(.missingParameter, "member \(key) is missing")
    }
    return value
  }
}

extension CBORValue {
  /// An unsigned integer of any width.
  static func number(_ number: some UnsignedInteger) -> CBORValue { .unsigned(UInt64(number)) }
  /// An array of texts.
  static func texts(_ texts: [String]) -> CBORValue { .array(texts.map(CBORValue.text)) }
}

/// A secret inside a message, such as a passphrase or a PIN: member 0 of the map, and therefore its first.
///
/// Canonical order puts it in front of all other members, so it goes from the packet into locked memory, and back,
/// without passing through a `CBORValue`.
enum SecretMember {
  /// Writes command ‖ {0: secret, members…}, whole, in locked memory.
  ///
  /// - Parameter members: at most 22, none with key 0.
  static func encode(command: UInt8, secret: SecretBytes, members: CBORMap = [:]) -> SecretBytes {
    // The head of a byte string depends only on the size of its content.
    let contentHead = CBOREncoder.encode(.bytes([UInt8](repeating: 0, count: secret.count))).dropLast(secret.count)
    let head = [command, 0xA1 + UInt8(members.count), 0x00] + contentHead
    let rest = members.encodedMembers.dropFirst()
    return SecretBytes(count: head.count + secret.count + rest.count) { message in
      message.copyBytes(from: head + [UInt8](repeating: 0, count: secret.count) + rest)
      secret.withUnsafeBytes { content in
        UnsafeMutableRawBufferPointer(rebasing: message[head.count...]).copyMemory(from: content)
      }
    }
  }

  /// Takes member 0, if present, out of a request's map and decodes the members after it.
  ///
  /// - Throws: `unexpectedType` if member 0 is not a byte string, `invalidLength` if it has 0 or more than `limit` bytes,
  ///   `invalidCBOR` for anything but a canonical map.
  static func split(
    _ body: UnsafeRawBufferPointer, atMost limit: Int = ControlMessage.maximumPassphraseSize
  ) throws(ControlFailure) -> (secret: SecretBytes?, members: CBORMap) {
    // A map of 1 to 23 members that begins with key 0.
    guard body.count > 2, 0xA1...0xB7 ~= body[0], body[1] == 0x00 else {
      return (nil, try CBORMap(decodingMembers: Array(body)))
    }
    let content = try contentRange(body, atMost: limit)
    let members = try CBORMap(decodingMembers: [body[0] - 1] + body[content.upperBound...])
    guard members[0] == nil else { throw ControlFailure(.invalidCBOR, "the secret is a duplicate") }
    return (SecretBytes(copying: UnsafeRawBufferPointer(rebasing: body[content])), members)
  }

  /// The range of the content of the byte string at offset 2.
  private static func contentRange(
    _ body: UnsafeRawBufferPointer, atMost limit: Int
  ) throws(ControlFailure) -> Range<Int> {
    guard body[2] >> 5 == 2 else { throw ControlFailure(.unexpectedType, "the secret is not a byte string") }
    let information = Int(body[2] & 0x1F)
    // The length is here, or in the next one, two or four bytes.
    guard information <= (limit > 0xFFFF ? 26 : 25) else {
      throw ControlFailure(.invalidLength, "the secret is too long")
    }
    let start = information < 24 ? 3 : 3 + (1 << (information - 24))
    guard body.count >= start else { throw ControlFailure(.invalidCBOR, "the request is cut off") }
    let count = start == 3 ? information : body[3..<start].reduce(0) { $0 << 8 | Int($1) }
    let least = information < 24 ? 0 : [24, 0x100, 0x1_0000][information - 24]
    guard count >= least else { throw ControlFailure(.invalidCBOR, "a length is longer than needed") }
    guard 1...limit ~= count else {
      throw ControlFailure(.invalidLength, "the secret has \(count) bytes; it must have 1 to \(limit)")
    }
    guard body.count >= start + count else { throw ControlFailure(.invalidCBOR, "the request is cut off") }
    return start..<start + count
  }
}

extension SecretBytes {
  /// Two secrets, one after the other.
  convenience init(_ first: SecretBytes, _ second: SecretBytes) {
    self.init(count: first.count + second.count) { buffer in
      first.withUnsafeBytes { buffer.copyMemory(from: $0) }
      second.withUnsafeBytes {
        UnsafeMutableRawBufferPointer(rebasing: buffer[first.count...]).copyMemory(from: $0)
      }
    }
  }

  /// The first `count` bytes, and the others.
  func parted(at count: Int) -> (SecretBytes, SecretBytes) {
    withUnsafeBytes { bytes in
      (
        SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[..<count])),
        SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[count...]))
      )
    }
  }
}
