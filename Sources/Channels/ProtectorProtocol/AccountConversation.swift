package import CryptoPrimitives
import Glibc
package import ProcessIO

/// The authenticator's first message to `liquid-auth-pam`: its kind; the body is empty.
package enum AccountRequest: UInt8, Sendable, CaseIterable {
  /// Checks whether PAM can be used, and asks nobody.
  case check = 1
  /// Verifies the user of the process.
  case verify
}

/// A message of `liquid-auth-pam`, in the form of ``ProtectorMessage``.
///
/// Kinds: 00 accepted, 01 to 06 a ``ProtectorFailure``, 10 wrong, 11 a question, 12 a remark, 13 an error.
package enum AccountMessage: Sendable, Equatable {
  /// The user was verified, or PAM can be used; the last message.
  case accepted
  /// PAM did not verify the user, for example because of a wrong answer or too many wrong fingers; the last message.
  case wrong
  /// PAM cannot verify; the last message.
  case failed(ProtectorFailure)
  /// A question of a module; the program waits for an answer.
  case asks(String)
  /// A remark of a module (PAM_TEXT_INFO).
  case says(String)
  /// An error of a module (PAM_ERROR_MSG), for example that a finger does not match.
  case reports(String)

  /// The longest text of a module, bytes: PAM_MAX_MSG_SIZE.
  package static let maximumTextSize = 512
  /// The longest answer, bytes: PAM_MAX_RESP_SIZE without the zero at its end.
  package static let maximumAnswerSize = 511
  /// The most questions, remarks and errors of one verification.
  package static let maximumCount = 32

  /// `nil` for an unknown kind, or a body that the kind does not allow.
  package init?(kind: UInt8, body: UnsafeRawBufferPointer) {
    switch kind {
    case 0x00 where body.isEmpty: self = .accepted
    case 0x10 where body.isEmpty: self = .wrong
    case 0x11 where body.count <= Self.maximumTextSize: self = .asks(String(decoding: body, as: UTF8.self))
    case 0x12 where body.count <= Self.maximumTextSize: self = .says(String(decoding: body, as: UTF8.self))
    case 0x13 where body.count <= Self.maximumTextSize: self = .reports(String(decoding: body, as: UTF8.self))
    default:
      guard let failure = ProtectorFailure(kind: kind, body: body) else { return nil }
      self = .failed(failure)
    }
  }

  /// The message; a text that is too long is cut.
  package var encoded: [UInt8] {
    switch self {
    case .accepted: ProtectorMessage.header(kind: 0x00, count: 0)
    case .wrong: ProtectorMessage.header(kind: 0x10, count: 0)
    case .failed(let failure): failure.encoded
    case .asks(let text): Self.encode(0x11, text)
    case .says(let text): Self.encode(0x12, text)
    case .reports(let text): Self.encode(0x13, text)
    }
  }

  private static func encode(_ kind: UInt8, _ text: String) -> [UInt8] {
    let body = text.utf8.prefix(maximumTextSize)
    return ProtectorMessage.header(kind: kind, count: body.count) + body
  }
}

/// The authenticator's end of a connection to `liquid-auth-pam`; each call blocks.
package final class AccountConversation: Sendable {
  private let connection: Int32

  /// Sends the request.
  ///
  /// - Parameter connection: closed with this object; then the program ends.
  package init(_ request: AccountRequest, over connection: Int32) {
    self.connection = connection
    // A new socket has room for it. If the program has ended, the read fails.
    Descriptor.write(ProtectorMessage.header(kind: request.rawValue, count: 0), to: connection)
  }

  deinit { close(connection) }

  /// Waits for the next message.
  package func next(
    until deadline: ContinuousClock.Instant, _ cancellation: Cancellation
  ) throws(ProtectorFailure) -> AccountMessage {
    let (kind, body) = try ProtectorPipe.read(connection, from: .account, until: deadline, cancellation)
    guard let message = body.withUnsafeBytes({ AccountMessage(kind: kind, body: $0) }) else {
      throw .malformed(.account)
    }
    return message
  }

  /// Answers a question.
  ///
  /// - Parameter answer: at most ``AccountMessage/maximumAnswerSize`` bytes, none of them 0.
  package func answer(_ answer: SecretBytes) {
    Descriptor.write(ProtectorMessage.header(kind: AccountPipe.answerKind, count: answer.count), to: connection)
    answer.withUnsafeBytes { _ = Descriptor.write($0, to: connection) }
  }
}

/// The end of `liquid-auth-pam`; each call blocks.
package enum AccountPipe {
  static let answerKind: UInt8 = 3

  /// Reads the request; `nil` if there is none.
  package static func request(from input: Int32, until deadline: ContinuousClock.Instant) -> AccountRequest? {
    guard let (kind, body) = try? ProtectorPipe.read(input, from: .account, until: deadline, Cancellation()),
      body.count == 0
    else { return nil }
    return AccountRequest(rawValue: kind)
  }

  /// Writes a message, and returns whether it was written.
  @discardableResult package static func write(_ message: AccountMessage, to output: Int32) -> Bool {
    Descriptor.write(message.encoded, to: output)
  }

  /// Reads the answer to a question: at most ``AccountMessage/maximumAnswerSize`` bytes, none of them 0; `nil` if there
  /// is none.
  package static func answer(from input: Int32, until deadline: ContinuousClock.Instant) -> SecretBytes? {
    guard let (kind, body) = try? ProtectorPipe.read(input, from: .account, until: deadline, Cancellation()),
      kind == answerKind, body.count <= AccountMessage.maximumAnswerSize, body.withUnsafeBytes({ !$0.contains(0) })
    else { return nil }
    return body
  }
}
