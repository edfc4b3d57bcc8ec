public import CBOR
public import CryptoPrimitives
public import Recovery

/// Why a command ended without an answer: the one error of the authenticator, which becomes a byte in one place.
///
/// Errors are equal by status. Reason and place are for messages and logs; they never hold a secret, nor a content that
/// names the user.
public struct CTAPError: Error, Sendable {
  /// The byte that the client gets.
  public let status: CTAPStatus
  /// What happened; lower case, no full stop.
  public let reason: String
  /// The source file that refused, as module and file name.
  public let file: String
  /// The line that refused.
  public let line: UInt

  /// Makes an error at the place of the call.
  public init(_ status: CTAPStatus, _ reason: String, file: String = #fileID, line: UInt = #line) {
    self.status = status
    self.reason = reason
    self.file = file
    self.line = line
  }
}

extension CTAPError: Equatable {
  /// Compares the status: two roads to the same refusal are the same refusal.
  public static func == (a: Self, b: Self) -> Bool { a.status == b.status }
}

extension CTAPError: CustomStringConvertible {
  /// Reason, status and place.
  public var description: String { "\(reason) (\(status), \(file):\(line))" }
}

// MARK: - Errors of the layers below, each mapped once

extension CTAPError {
  /// A request whose bytes or members are wrong: CTAP §8.
  public init(_ error: CBORError, file: String = #fileID, line: UInt = #line) {
    let status: CTAPStatus =
      switch error {
      case .invalid: .invalidCBOR
      case .unexpectedType: .cborUnexpectedType
      case .missing: .missingParameter
      }
    self.init(status, error.description, file: file, line: line)
  }

  /// A user who was not verified in a ceremony: CTAP §6.1.2, step 11.2.3, and §6.2.2, step 6.2.3.
  ///
  /// If a PIN is set, the platform must send a token instead. Time-out, refusal and CANCEL stay what they
  /// are.
  init(ofVerification error: UserInteractionError, isPINSet: Bool) {
    switch error {
    case .verificationFailed where isPINSet, .verificationBlocked where isPINSet:
      self.init(.puatRequired, "the user could not be verified, and a PIN is set")
    default: self.init(error)
    }
  }

  /// A user who did not agree.
  ///
  /// No tries left is PIN_BLOCKED (UV_BLOCKED belongs to clientPIN alone); a failed verification is OPERATION_DENIED,
  /// and so is a vault that stays locked.
  public init(_ error: UserInteractionError, file: String = #fileID, line: UInt = #line) {
    let (status, reason): (CTAPStatus, String) =
      switch error {
      case .declined: (.operationDenied, "the user refused, or no prompt could be shown")
      case .wrongPassphrase: (.operationDenied, "the vault stays locked: the passphrase was wrong in every try")
      case .timedOut: (.userActionTimeout, "nobody answered in time")
      case .cancelled: (.keepaliveCancel, "the client withdrew the request")
      case .verificationFailed: (.operationDenied, "the user could not be verified")
      case .verificationBlocked: (.pinBlocked, "verification is blocked; lock and unlock the vault")
      }
    self.init(status, reason, file: file, line: line)
  }

  /// Credentials could not be made, read or written; a store's reason and hint name the file and what to do.
  public init(_ error: RecoveryError, file: String = #fileID, line: UInt = #line) {
    let status: CTAPStatus =
      switch error.kind {
      case .full: .keyStoreFull
      case .userIDLength: .invalidLength
      case .store, .notReplaced, .noKey, .key, .lastEpoch: .other
      case .notAuthentic, .malformed, .columnsExchanged, .anotherPhrase: .other
      }
    self.init(status, error.description, file: file, line: line)
  }

  /// A key that could not be derived or used.
  public init(_ error: CryptoError, file: String = #fileID, line: UInt = #line) {
    self.init(.other, "the credential's key cannot be used: \(error)", file: file, line: line)
  }
}

/// Calls a store, or Recovery, and turns its error into a ``CTAPError``.
package func stored<T>(
  _ ask: @autoclosure () throws(RecoveryError) -> T, file: String = #fileID, line: UInt = #line
) throws(CTAPError) -> T {
  do { return try ask() } catch { throw CTAPError(error, file: file, line: line) }
}
