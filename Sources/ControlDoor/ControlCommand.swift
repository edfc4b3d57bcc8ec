public import CBOR
public import CryptoPrimitives

/// One command of the control socket: what is asked, and what it is answered with.
///
/// A command is one type here, one `handle` and one line of the table in the authenticator; whoever asks writes
/// `ask(RenameCredential(…))`.
public protocol ControlCommand: Sendable {
  /// What it is answered with when it was done.
  associatedtype Answer: ControlAnswer = Done

  /// The first byte of the message, one of ``ControlMessage/vendorCommands``.
  static var code: UInt8 { get }
  /// What the answer may have to wait for.
  static var wait: ControlWait { get }

  /// Reads the members of a request; those that it does not know are ignored.
  init(_ members: CBORMap) throws(ControlFailure)
  /// The members of the request.
  var members: CBORMap { get }

  /// Reads what stands behind the command byte.
  init(decoding body: UnsafeRawBufferPointer) throws(ControlFailure)
  /// The request as it goes into one packet; in locked memory, because it may hold a passphrase.
  var encoded: SecretBytes { get }
}

/// What an answer may have to wait for.
public enum ControlWait: Sendable {
  /// Nothing.
  case none
  /// Argon2id or the end of a dialog: a moment, and no person.
  case work
  /// The queue of all requests, and the person who is asked in it.
  case queue
}

extension ControlCommand {
  /// Most commands wait in line.
  public static var wait: ControlWait { .queue }

  /// Reads the members.
  ///
  /// Whoever received them wipes them afterwards.
  public init(decoding body: UnsafeRawBufferPointer) throws(ControlFailure) {
    try self.init(SecretMember.split(body).members)
  }

  /// Command byte ‖ members.
  public var encoded: SecretBytes {
    ([Self.code] + members.encodedMembers).withUnsafeBytes { SecretBytes(copying: $0) }
  }
}

/// A command without members.
public protocol PlainCommand: ControlCommand {
  /// The only request there is.
  init()
}

extension PlainCommand {
  /// Nothing to read.
  public init(_ members: CBORMap) { self.init() }
  /// No members.
  public var members: CBORMap { [:] }
}

/// A command whose only member is a passphrase or a PIN: {0: bytes}.
public protocol SecretCommand: ControlCommand {
  /// The passphrase or PIN.
  var secret: SecretBytes { get }
  /// Asks with it.
  init(_ secret: SecretBytes)
}

extension SecretCommand {
  /// Refuses members among which there is no secret.
  public init(_ members: CBORMap) throws(ControlFailure) {
    throw ControlFailure(.missingParameter, "the passphrase or PIN is missing")
  }

  /// No members but the secret.
  public var members: CBORMap { [:] }

  /// Copies the secret into locked memory.
  public init(decoding body: UnsafeRawBufferPointer) throws(ControlFailure) {
    let (secret, members) = try SecretMember.split(body)
    if let secret { self.init(secret) } else { try self.init(members) }
  }

  /// Command byte ‖ {0: secret}.
  public var encoded: SecretBytes { SecretMember.encode(command: Self.code, secret: secret) }
}

// MARK: - Answers

/// What a request is answered with when it was done.
public protocol ControlAnswer: Sendable {
  /// Reads the members of an answer; those that it does not know are ignored.
  init(_ members: CBORMap) throws(ControlFailure)
  /// The members of the answer.
  var members: CBORMap { get }
}

extension ControlAnswer {
  /// The answer as it goes into one packet: status 0 ‖ members.
  public var encoded: [UInt8] { [ControlStatus.ok.rawValue] + members.encodedMembers }

  /// Reads one packet.
  ///
  /// - Throws: the failure that the packet carries, or `other` when it is no answer at all.
  public init(decoding message: [UInt8]) throws(ControlFailure) {
    guard let status = message.first.map(ControlStatus.init(rawValue:)) else {
      throw ControlFailure(.other, "the authenticator answers with an empty message")
    }
    guard status == .ok else {
      throw ControlFailure(status, decodingMembers: Array(message.dropFirst()))
    }
    try self.init(CBORMap(decodingMembers: Array(message.dropFirst())))
  }
}

/// The answer of a command that has nothing to tell: the status byte alone.
public struct Done: ControlAnswer, Equatable {
  /// Nothing to join.
  public init() {}
  /// Nothing to read.
  public init(_ members: CBORMap) throws(ControlFailure) {}
  /// No members.
  public var members: CBORMap { [:] }
}
