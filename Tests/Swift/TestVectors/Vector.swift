import Foundation
import Synchronization
import Testing

/// One JSON file of `Tests/Vectors`, or a value inside it, such as `vectors.payment.txid.text`.
///
/// Any member or element can be named, present or missing. Reading a value that is missing or of another type fails the
/// test with its place, such as "algorand.json: payment.txid is no text", and returns an empty value. So nothing is
/// thrown, and `#expect` shows what it compared.
@dynamicMemberLookup
package struct Vector: Sendable, CustomStringConvertible {
  private let place: String
  /// The value; `nil` if absent.
  package let json: JSONValue?

  private static let files = Mutex<[String: JSONValue]>([:])

  /// Reads `Tests/Vectors/NAME.json`.
  ///
  /// The path is relative to this source file, so tests run from any working directory.
  ///
  /// - Throws: the file system's error if there is no such file.
  package init(_ name: String) throws {
    json = try Self.files.withLock { files in
      if let file = files[name] { return file }
      let folder = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
      let file = try JSONValue(Array(Data(contentsOf: folder.appending(path: "Vectors/\(name).json"))))
      files[name] = file
      return file
    }
    place = "\(name).json"
  }

  private init(_ json: JSONValue?, at place: String) { (self.json, self.place) = (json, place) }

  /// A member whose name is one of the properties below, or not a Swift identifier.
  package subscript(_ name: String) -> Vector {
    Vector(json?[name], at: place + (place.hasSuffix(".json") ? ": " : ".") + name)
  }

  package subscript(dynamicMember name: String) -> Vector { self[name] }

  /// An element of an array.
  package subscript(_ index: Int) -> Vector {
    let elements = array
    return Vector(elements.indices.contains(index) ? elements[index].json : nil, at: "\(place)[\(index)]")
  }

  /// The case's own name, or its place.
  package var description: String {
    let names: [JSONValue?] = [json, json?["name"], json?["why"], json?["id"]]
    return names.lazy.compactMap { $0?.text }.first ?? place
  }

  // MARK: Values

  /// This value; `nil` if it is absent or null.
  package var optional: Vector? { json == nil || json == .null ? nil : self }

  package var array: [Vector] {
    read("array", else: []) { json in
      guard case .array(let elements) = json else { return nil }
      return elements.enumerated().map { Vector($1, at: "\(place)[\($0)]") }
    }
  }

  /// The members of an object, by name.
  package var members: [String: Vector] {
    read("object", else: [:]) { json in
      guard case .object(let members) = json else { return nil }
      return Dictionary(uniqueKeysWithValues: members.map { ($0.key, self[$0.key]) })
    }
  }

  package var text: String { read("text", else: "", \.text) }

  /// Bytes decoded from hexadecimal.
  package var hex: Hex { read("hexadecimal", else: Hex([])) { $0.text.flatMap { Hex($0) } } }

  /// The same bytes, for use rather than comparison.
  package var bytes: [UInt8] { hex.bytes }

  /// Bytes decoded from base64.
  package var base64: [UInt8] {
    read("base64", else: []) { $0.text.flatMap { Data(base64Encoded: $0) }.map(Array.init) }
  }

  package var isTrue: Bool {
    read("true or false", else: false) { json in
      guard case .bool(let bool) = json else { return nil }
      return bool
    }
  }

  /// An integer in the range of the given type.
  package func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T {
    read("\(type)", else: 0) { json in
      // From 2^53 on, the parser may have rounded another integer to this one.
      guard case .number(let number) = json, number.magnitude < 0x1p53 else { return nil }
      return T(exactly: number)
    }
  }

  private func read<Value>(_ kind: String, else none: Value, _ value: (JSONValue) -> Value?) -> Value {
    if let json, let value = value(json) { return value }
    let fault = "\(place) is \(json == nil ? "missing" : "no \(kind)")"
    // While a test's arguments are made, no case runs yet: an issue would be lost, and the cases with it.
    guard Test.Case.current != nil else { fatalError(fault) }
    Issue.record("\(fault)")
    return none
  }
}

/// Bytes that print as hexadecimal.
package struct Hex: Hashable, Sendable, CustomStringConvertible {
  package let bytes: [UInt8]

  /// Wraps bytes that a test computed, for comparison and for a readable failure.
  package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  /// Decodes hexadecimal text; `nil` for an odd length or another character.
  package init?(_ text: String) {
    let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
    guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  /// Lower-case hexadecimal.
  package var description: String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}
