package import CryptoPrimitives

/// A message between `liquid-auth-protector` or `liquid-auth-pam` and the program that it serves:
/// `02 ‖ kind ‖ BE16 length ‖ body`.
///
/// The protector reads one request from standard input, and writes one answer to standard output. For `liquid-auth-pam`
/// see ``AccountMessage``.
package enum ProtectorMessage {
  package static let version: UInt8 = 2
  /// The size of what comes before the body, bytes.
  package static let headerSize = 4
  /// The longest body, bytes.
  package static let maximumBodySize = 2048
  /// How long the program may take, with the time that a person needs to unlock a keyring.
  package static let timeLimit = Duration.seconds(120)
  /// The kind of a message without a body that can come before the answer: a security key now waits for a touch.
  package static let touchKind: UInt8 = 7

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
/// kind: the operation; body: `type ‖ BE16 length of data ‖ data ‖ PIN`.
package struct ProtectorRequest: Sendable {
  package enum Operation: UInt8, Sendable, CaseIterable {
    /// Makes a random key and keeps it, and answers with the key and its public data.
    case make = 1
    /// Answers with the key.
    case get
    /// Deletes the key.
    case delete
    /// Answers without a key if a slot can be made with this data, or, with the data of a slot, if what keeps its key is
    /// there; asks nobody.
    case find
  }

  /// The type of the TPM's counter, which is no slot (Recovery §6).
  ///
  /// `make` needs no data, and answers with the auth value as the key, and BE32 of the index ‖ BE64 of the value as the
  /// data. `delete` and `get` need BE32 of the index ‖ 01 to increment it, otherwise 00. `get` also needs the auth value
  /// in place of a PIN, and answers with BE64 of the value as the data, without a key.
  package static let counterType: UInt8 = 0
  /// The type of a slot of a security key.
  ///
  /// For a slot without a public key, `get` also answers with the public key as the data, if it is known then: X ‖ Y,
  /// ``ProtectorAnswer/publicKeySize`` bytes.
  package static let securityKeyType: UInt8 = 3

  /// The label of an item in a keyring, which holds the key of a slot.
  package static let keyringLabel = "Liquid Auth vault on this machine"

  package let operation: Operation
  /// The type of the slot (Recovery §1), or ``counterType``.
  package let type: UInt8
  /// The public data of the slot, which says where the key is, or how to make it.
  package let data: [UInt8]
  /// The PIN of the slot, as typed; `nil` if none was typed.
  package let pin: SecretBytes?

  /// The longest PIN, bytes.
  package static let longestPIN = 255
  /// The size of a key, bytes.
  package static let keySize = 32

  package init(_ operation: Operation, type: UInt8, data: [UInt8], pin: SecretBytes? = nil) {
    (self.operation, self.type, self.data, self.pin) = (operation, type, data, pin)
  }

  /// `nil` for an unknown operation, a body that is too short, or a PIN that is too long.
  package init?(kind: UInt8, body: UnsafeRawBufferPointer) {
    guard let operation = Operation(rawValue: kind), body.count >= 3 else { return nil }
    let rest = body.dropFirst(3)
    let count = Int(body[1]) << 8 | Int(body[2])
    guard 0...Self.longestPIN ~= rest.count - count else { return nil }
    let pin = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    self.init(
      operation, type: body[0], data: Array(rest.prefix(count)), pin: pin.isEmpty ? nil : SecretBytes(copying: pin))
  }

  /// The message without its last part, the PIN.
  package var encodedWithoutPIN: [UInt8] {
    let start = [type, UInt8(data.count >> 8), UInt8(data.count & 0xFF)] + data
    return ProtectorMessage.header(kind: operation.rawValue, count: start.count + (pin?.count ?? 0)) + start
  }
}

/// The key of a slot, or the value of the TPM's counter; an answer whose kind is 00.
///
/// body: `key ‖ data`; empty for `delete` and `find`.
package struct ProtectorAnswer: Sendable {
  /// 32 bytes; empty if the request is for a counter's value.
  package let key: SecretBytes
  /// The public data of a new key, which the slot stores; a counter's value; the public key that a slot lacks;
  /// otherwise empty.
  package let data: [UInt8]

  /// The size of a public key, bytes.
  package static let publicKeySize = 64

  package init(key: SecretBytes, data: [UInt8] = []) { (self.key, self.data) = (key, data) }

  /// `nil` if the body is too short, or too long for the operation.
  init?(_ body: SecretBytes, to request: ProtectorRequest) {
    let size =
      switch (request.operation, request.type) {
      case (.delete, _), (.find, _), (.get, ProtectorRequest.counterType): 0
      default: ProtectorRequest.keySize
      }
    let dataSize = body.count - size
    let isWhole =
      switch (request.operation, request.type) {
      case (.make, _): dataSize >= 0
      case (.get, ProtectorRequest.counterType): dataSize == 8
      case (.get, ProtectorRequest.securityKeyType): dataSize == 0 || dataSize == Self.publicKeySize
      default: dataSize == 0
      }
    guard isWhole else { return nil }
    (key, data) = body.withUnsafeBytes {
      (SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(size))), Array($0.dropFirst(size)))
    }
  }

  /// An answer without a key: to `delete` and `find`, or with the value of a counter, BE64.
  package static func withoutKey(_ data: [UInt8] = []) -> ProtectorAnswer {
    ProtectorAnswer(key: SecretBytes(count: 0) { _ in }, data: data)
  }
}

/// A program that answers, by its name.
package enum AnsweringProgram: String, Sendable {
  case protector = "liquid-auth-protector"
  case account = "liquid-auth-pam"

  /// What to do after it ended without an answer.
  fileprivate var adviceAfterEnd: String {
    switch self {
    case .protector: "if it used the TPM, restart the machine and try again"
    case .account: "see the system's log"
    }
  }
}

/// Why the program has no key; an answer whose kind is not 00.
///
/// kind: that of the failure; body: `reason`, or `reason ‖ 0A ‖ hint`, in printable ASCII.
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
    /// The slot needs a PIN, and the request has none.
    case pinNeeded
    /// The PIN is wrong.
    case wrongPIN
  }

  package let kind: Kind
  /// What is wrong: lower case, no full stop.
  package let reason: String
  /// What to do, if anything can be done: lower case, no full stop.
  package let hint: String?

  package init(_ kind: Kind, _ reason: String, hint: String? = nil) {
    (self.kind, self.reason, self.hint) = (kind, reason, hint)
  }

  /// `nil` for an unknown kind, or for a reason or hint that is empty or not printable ASCII.
  package init?(kind: UInt8, body: some Collection<UInt8>) {
    let parts = body.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = Kind(rawValue: kind),
      parts.allSatisfy({ part in !part.isEmpty && part.allSatisfy { 0x20...0x7E ~= $0 } })
    else { return nil }
    let texts = parts.map { String(decoding: $0, as: UTF8.self) }
    self.init(kind, texts[0], hint: texts.dropFirst().first)
  }

  /// The answer; other characters than printable ASCII become "?", and what is too long is cut.
  package var encoded: [UInt8] {
    let limit = ProtectorMessage.maximumBodySize
    var body = Self.printable(reason, atMost: limit)
    // Room for the separator, and for one character at least.
    if let hint, body.count < limit - 1 { body += [0x0A] + Self.printable(hint, atMost: limit - body.count - 1) }
    return ProtectorMessage.header(kind: kind.rawValue, count: body.count) + body
  }

  private static func printable(_ text: String, atMost limit: Int) -> [UInt8] {
    text.unicodeScalars.prefix(limit).map { 0x20...0x7E ~= $0.value ? UInt8($0.value) : UInt8(ascii: "?") }
  }

  /// The reason, then the hint.
  package var description: String { hint.map { "\(reason); \($0)" } ?? reason }

  /// The program ended before its answer was complete, for example because a TPM did not answer in time.
  package static func ended(_ program: AnsweringProgram) -> ProtectorFailure {
    ProtectorFailure(.failed, "\(program.rawValue) ended without an answer", hint: program.adviceAfterEnd)
  }
  /// The program's answer is malformed.
  package static func malformed(_ program: AnsweringProgram) -> ProtectorFailure {
    ProtectorFailure(
      .failed, "\(program.rawValue) gave no valid answer", hint: "install all programs from the same version")
  }
}
