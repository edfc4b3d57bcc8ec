import CBOR

/// Reads a member, and tells what is wrong with it as the failure to answer with.
func told<T>(_ member: @autoclosure () throws(CBORError) -> T) throws(ControlFailure) -> T {
  do { return try member() } catch { throw ControlFailure(error) }
}

extension CBORMap {
  /// Decodes what stands behind a command or status byte; nothing is the empty map.
  init(decodingMembers bytes: [UInt8]) throws(ControlFailure) {
    guard !bytes.isEmpty else {
      self.init()
      return
    }
    guard let members = try told(CBORDecoder.decode(bytes)).map else {
      throw ControlFailure(.invalidCBOR, "the message is not a map")
    }
    self = members
  }

  /// What stands behind a command or status byte; the empty map is nothing.
  var encodedMembers: [UInt8] { isEmpty ? [] : CBOREncoder.encode(.map(self)) }

  /// The members that are there.
  init(present members: KeyValuePairs<CBORValue, CBORValue?>) {
    self.init()
    for (key, value) in members { self[key] = value }
  }

  /// A list of texts, each of which is such a thing.
  func texts(_ key: CBORValue, _ name: String) throws(ControlFailure) -> [String] {
    var texts: [String] = []
    for value in try told(requiredArray(key)) {
      guard let text = value.text else { throw ControlFailure(.unexpectedType, "\(name) is not a text") }
      texts.append(text)
    }
    return texts
  }

  /// A text that is there, neither empty nor longer than so many bytes.
  func text(_ key: CBORValue, _ name: String, atMost limit: Int) throws(ControlFailure) -> String {
    let text = try told(requiredText(key))
    guard 1...limit ~= text.utf8.count else {
      throw ControlFailure(.invalidLength, "\(name) has \(text.utf8.count) bytes; it must have 1 to \(limit)")
    }
    return text
  }

  /// An unsigned integer that fits its type.
  func integer<T: FixedWidthInteger>(_ key: CBORValue, as type: T.Type) throws(ControlFailure) -> T? {
    guard let number = try told(optionalUnsigned(key)) else { return nil }
    guard let value = T(exactly: number) else {
      throw ControlFailure(.invalidParameter, "member \(key) is out of range: \(number)")
    }
    return value
  }

  /// An unsigned integer that is there and fits its type.
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
  /// A list of texts.
  static func texts(_ texts: [String]) -> CBORValue { .array(texts.map(CBORValue.text)) }
}
