/// A message between `liquid-auth-protector` and the program that starts it: `01 ‖ kind ‖ BE16 length ‖ body`.
///
/// The program reads one request from standard input, and writes one answer to standard output.
package enum ProtectorMessage {
  package static let version: UInt8 = 1
  /// The size of what comes before the body, bytes.
  package static let headerSize = 4
  /// The longest body, bytes.
  package static let maximumBodySize = 1024
  /// How long the program may take, with the time that a person needs to unlock a keyring.
  package static let timeLimit = Duration.seconds(120)

  /// The first bytes of a message.
  package static func header(kind: UInt8, count: Int) -> [UInt8] {
    [version, kind, UInt8(count >> 8), UInt8(count & 0xFF)]
  }

  /// Reads the first bytes of a message.
  ///
  /// - Returns: the kind, and how many bytes the body has; `nil` for another version, or a body that is too long.
  package static func parse(header: [UInt8]) -> (kind: UInt8, count: Int)? {
    guard header.count == headerSize, header[0] == version else { return nil }
    let count = Int(header[2]) << 8 | Int(header[3])
    return count <= maximumBodySize ? (header[1], count) : nil
  }
}

/// What the program does with the key of one slot.
///
/// kind: the operation; body: `type ‖ data`.
package struct ProtectorRequest: Equatable, Sendable {
  package enum Operation: UInt8, Sendable, CaseIterable {
    /// Makes a random key, keeps it, and answers with it.
    case make = 1
    /// Answers with the key.
    case get
    /// Deletes the key.
    case delete
  }

  package let operation: Operation
  /// The type of the slot (Recovery §1).
  package let type: UInt8
  /// What the slot says in public about where the key is.
  package let data: [UInt8]

  package init(_ operation: Operation, type: UInt8, data: [UInt8]) {
    (self.operation, self.type, self.data) = (operation, type, data)
  }

  /// `nil` for an unknown operation, or without a type.
  package init?(kind: UInt8, body: some Collection<UInt8>) {
    guard let operation = Operation(rawValue: kind), let type = body.first else { return nil }
    self.init(operation, type: type, data: Array(body.dropFirst()))
  }

  package var encoded: [UInt8] {
    ProtectorMessage.header(kind: operation.rawValue, count: 1 + data.count) + [type] + data
  }

  /// How many bytes of key the answer has.
  package var keySize: Int { operation == .delete ? 0 : 32 }
}

/// Why the program has no key; an answer whose kind is not 00.
///
/// kind: the reason; body: the words, ASCII.
package struct ProtectorFailure: Error, Equatable, CustomStringConvertible {
  package enum Kind: UInt8, Sendable, CaseIterable {
    /// There is no such key.
    case absent = 1
    /// The person did not unlock what keeps the key.
    case dismissed
    /// The service that keeps the key does not run.
    case noService
    /// Something else went wrong.
    case failed
  }

  package let kind: Kind
  /// Lower case, no full stop: what is wrong, then what to do.
  package let description: String

  package init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }

  /// `nil` for an unknown kind, or words that are empty or not printable ASCII.
  package init?(kind: UInt8, body: some Collection<UInt8>) {
    guard let kind = Kind(rawValue: kind), !body.isEmpty, body.allSatisfy({ 0x20...0x7E ~= $0 }) else { return nil }
    self.init(kind, String(decoding: body, as: UTF8.self))
  }

  /// The answer; other characters than printable ASCII become "?", and words that are too long are cut.
  package var encoded: [UInt8] {
    let words = description.unicodeScalars.prefix(ProtectorMessage.maximumBodySize).map {
      0x20...0x7E ~= $0.value ? UInt8($0.value) : UInt8(ascii: "?")
    }
    return ProtectorMessage.header(kind: kind.rawValue, count: words.count) + words
  }

  /// The program's answer is malformed, or cut off.
  package static let malformed = ProtectorFailure(
    .failed, "liquid-auth-protector gave no valid answer; install all programs from the same version")
}
