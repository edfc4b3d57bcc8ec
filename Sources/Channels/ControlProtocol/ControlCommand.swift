package import CBOR
package import CryptoPrimitives

/// One command of the control socket: its request and its answer.
///
/// A command is one type here, one `handle` in the authenticator, and one line in the table there; a client calls
/// `ask(RenameCredential(…))`.
package protocol ControlCommand: Sendable {
  /// The answer of a command that succeeded.
  associatedtype Answer: ControlAnswer = Done

  /// The command byte, one of ``ControlMessage/vendorCommands``.
  static var code: UInt8 { get }
  /// What the answer may wait for.
  static var wait: ControlWait { get }
  /// The longest request, bytes, command byte included; at most ``ControlMessage/maximumSize``.
  static var maximumRequestSize: Int { get }
  /// Whether a ticket of the client's terminal replaces the passphrase: Control.md, "Tickets".
  ///
  /// Only for an owner's command that changes nothing, and shows no more than the list of passkeys.
  static var goesByTicket: Bool { get }

  /// Reads the members of a request; ignores unknown ones.
  init(_ members: CBORMap) throws(ControlFailure)
  var members: CBORMap { get }

  /// Reads what follows the command byte.
  init(decoding body: UnsafeRawBufferPointer) throws(ControlFailure)
  /// The request as it goes into one packet; in locked memory, because it may hold a passphrase.
  var encoded: SecretBytes { get }
}

/// What an answer may wait for.
package enum ControlWait: Sendable {
  /// Nothing.
  case none
  /// Argon2id or the end of a dialog: a moment, and no person.
  case work
  /// The queue of all requests, and a person.
  case queue
}

extension ControlCommand {
  package static var wait: ControlWait { .queue }

  package static var maximumRequestSize: Int { ControlMessage.maximumPlainSize }

  package static var goesByTicket: Bool { false }

  /// Reads the members; the caller wipes `body` afterwards.
  package init(decoding body: UnsafeRawBufferPointer) throws(ControlFailure) {
    try self.init(SecretMember.split(body).members)
  }

  /// Command byte ‖ members.
  package var encoded: SecretBytes {
    ([Self.code] + members.encodedMembers).withUnsafeBytes { SecretBytes(copying: $0) }
  }
}

/// A command without members.
package protocol PlainCommand: ControlCommand {
  init()
}

extension PlainCommand {
  package init(_ members: CBORMap) { self.init() }
  package var members: CBORMap { [:] }
}

/// A command whose only member is a passphrase or a PIN: {0: bytes}.
package protocol SecretCommand: ControlCommand {
  var secret: SecretBytes { get }
  init(_ secret: SecretBytes)
}

extension SecretCommand {
  /// Always throws: only ``init(decoding:)`` reads a secret.
  package init(_ members: CBORMap) throws(ControlFailure) {
    throw ControlFailure(.missingParameter, "the passphrase or PIN is missing")
  }

  package var members: CBORMap { [:] }

  /// Copies the secret into locked memory.
  package init(decoding body: UnsafeRawBufferPointer) throws(ControlFailure) {
    let (secret, members) = try SecretMember.split(body)
    if let secret { self.init(secret) } else { try self.init(members) }
  }

  /// Command byte ‖ {0: secret}.
  package var encoded: SecretBytes { SecretMember.encode(command: Self.code, secret: secret) }
}

// MARK: - Answers

/// The answer to a request that succeeded.
package protocol ControlAnswer: Sendable {
  /// Reads the members of an answer; ignores unknown ones.
  init(_ members: CBORMap) throws(ControlFailure)
  var members: CBORMap { get }

  /// Reads one packet.
  ///
  /// - Throws: the failure that the packet carries, or `other` for an empty packet.
  init(decoding message: [UInt8]) throws(ControlFailure)
  /// The answer as it goes into one packet; the caller wipes it, because it may hold private keys.
  var encoded: [UInt8] { get }
}

extension ControlAnswer {
  /// Status 0 ‖ members.
  package var encoded: [UInt8] { [ControlStatus.ok.rawValue] + members.encodedMembers }

  package init(decoding message: [UInt8]) throws(ControlFailure) {
    try Self.checkStatus(of: message)
    try self.init(CBORMap(decodingMembers: Array(message.dropFirst())))
  }

  /// Throws the failure that a packet carries, or `other` for an empty packet.
  static func checkStatus(of message: [UInt8]) throws(ControlFailure) {
    guard let status = message.first.map(ControlStatus.init(rawValue:)) else {
      throw ControlFailure(.other, "the authenticator sent an empty message")
    }
    guard status == .ok else {
      throw ControlFailure(status, decodingMembers: Array(message.dropFirst()))
    }
  }
}

/// An empty answer: the status byte alone.
package struct Done: ControlAnswer, Equatable {
  /// Takes the result of a function that returns nothing.
  package init(_ done: Void = ()) {}
  package init(_ members: CBORMap) throws(ControlFailure) {}
  package var members: CBORMap { [:] }
}

/// The control protocol: `SOCK_SEQPACKET`, one packet for each message, one answer for each request, in order.
///
/// A request is one command byte and a CTAP2 canonical CBOR map; an answer is one status byte and such a map. A map
/// without members is left out. CTAP2 messages (command bytes below ``vendorCommands``) pass unchanged in both
/// directions, and reach the same authenticator as those of the device. The first request of a connection is ``Hello``.
///
/// Before an answer, the authenticator can say once that a prompt is open (``promptIsOpen``), if the hello asks for it.
///
/// Closing the connection withdraws a request that waits for a person.
package enum ControlMessage {
  /// The protocol version, which both sides must share: an older authenticator ignores new members, and would answer a
  /// different request.
  package static let version: UInt64 = 8

  /// The packet that comes before the answer to a request of ``ControlWait/queue`` if a prompt is open, of this request
  /// or of another one, or opens meanwhile: at most once for each request.
  ///
  /// Only a client whose ``Hello`` asks for it gets it.
  package static let promptIsOpen = [ControlStatus.promptIsOpen.rawValue]

  /// The longest message in either direction, bytes; a longer packet ends the connection.
  ///
  /// It holds a dApp's largest request, and fits into the default socket buffer of Linux (212 992).
  package static let maximumSize = 163_840

  /// The longest request by default, and of a connection before its hello, bytes.
  package static let maximumPlainSize = 8_192

  /// The longest CTAP2 message, bytes: what CTAPHID can carry too, CTAP §11.2.4.
  package static let maximumCTAPSize = 7_609

  /// The command bytes of the control protocol, within CTAP's vendor range 0x40–0xBF, CTAP §6.
  package static let vendorCommands: ClosedRange<UInt8> = 0x50...0x9F

  /// The longest passphrase, bytes, in every dialog and command: each must accept what the others accept.
  package static let maximumPassphraseSize = 256

  /// The command byte of a request, of CTAP2 or of this socket.
  ///
  /// - Throws: `invalidLength` for a request that is empty or too long.
  package static func command(of request: UnsafeRawBufferPointer) throws(ControlFailure) -> UInt8 {
    guard let code = request.first, request.count <= maximumSize else {
      throw ControlFailure(.invalidLength, "the request is empty or too long")
    }
    guard vendorCommands.contains(code) || request.count <= maximumCTAPSize else {
      throw ControlFailure(.invalidLength, "the CTAP2 message is longer than 7609 bytes")
    }
    return code
  }
}
