public import CBOR
public import CryptoPrimitives
public import Recovery

/// The only error of the authenticator; one function turns it into a status byte.
///
/// Errors are equal by status. Reason and place are for messages and logs. They hold no secret and nothing that names
/// the user.
public struct CTAPError: Error, Sendable {
  /// The byte that the client gets.
  public let status: CTAPStatus
  /// What happened; lower case, no full stop.
  public let reason: String
  /// The words of the command that ends the reason; `nil` if none does.
  public private(set) var command: [String]?
  /// The source file that threw the error, as module and file name.
  public let file: String
  /// The line that threw the error.
  public let line: UInt
  /// How the prompt ended that caused the error; `nil` if no prompt did.
  public private(set) var prompt: UserInteractionError?
  /// Whether the owner's policy for the site refused the request; no dialog was shown.
  public private(set) var isByPolicy = false

  /// Makes an error at the place of the call.
  ///
  /// - Parameter command: plain words, which end the reason.
  public init(
    _ status: CTAPStatus, _ reason: String, run command: [String] = [], file: String = #fileID, line: UInt = #line
  ) {
    self.status = status
    self.reason = ([reason] + command).joined(separator: " ")
    self.command = command.isEmpty ? nil : command
    self.file = file
    self.line = line
  }
}

extension CTAPError: Equatable {
  /// Compares the status only.
  public static func == (a: Self, b: Self) -> Bool { a.status == b.status }
}

extension CTAPError: CustomStringConvertible {
  /// Reason, status and place.
  public var description: String { "\(reason) (\(status), \(file):\(line))" }
}

// MARK: - Errors of the layers below, each mapped once

extension CTAPError {
  /// Maps an error in the bytes or members of a request: CTAP §8.
  public init(_ error: CBORError, file: String = #fileID, line: UInt = #line) {
    let status: CTAPStatus =
      switch error {
      case .invalid: .invalidCBOR
      case .unexpectedType: .cborUnexpectedType
      case .missing: .missingParameter
      }
    self.init(status, error.description, file: file, line: line)
  }

  /// Maps a failed verification in a ceremony: CTAP §6.1.2, step 11.2.3, and §6.2.2, step 6.2.3.
  ///
  /// If a PIN is set, the platform must send a token instead. Timeout, refusal and CANCEL keep their statuses.
  init(ofVerification error: UserInteractionError, isPINSet: Bool) {
    switch error {
    case .verificationFailed where isPINSet, .verificationBlocked where isPINSet:
      self.init(.puatRequired, "the user could not be verified, and a PIN is set", prompt: error)
    default: self.init(error)
    }
  }

  /// Makes an error that a prompt caused.
  init(
    _ status: CTAPStatus, _ reason: String, prompt: UserInteractionError, file: String = #fileID, line: UInt = #line
  ) {
    self.init(status, reason, file: file, line: line)
    self.prompt = prompt
  }

  /// Makes the error of a request that the owner's policy refuses.
  init(deniedByPolicy status: CTAPStatus, file: String = #fileID, line: UInt = #line) {
    self.init(status, "denied by policy", file: file, line: line)
    isByPolicy = true
  }

  /// The error of a wallet's request that the owner's policy refuses.
  package static var deniedByPolicy: Self { Self(deniedByPolicy: .operationDenied) }

  /// Maps a failed prompt.
  ///
  /// Blocked verification is PIN_BLOCKED (only clientPIN sends UV_BLOCKED). A failed verification, a vault that stays
  /// locked and a prompt that could not be shown are OPERATION_DENIED.
  public init(_ error: UserInteractionError, file: String = #fileID, line: UInt = #line) {
    let (status, reason): (CTAPStatus, String) =
      switch error {
      case .declined: (.operationDenied, "the user refused")
      case .unavailable: (.operationDenied, "no prompt could be shown, or the vault is not open")
      case .wrongPassphrase: (.operationDenied, "the vault stays locked: the passphrase was wrong in every try")
      case .timedOut: (.userActionTimeout, "nobody answered in time")
      case .cancelled: (.keepaliveCancel, "the request was withdrawn")
      case .verificationFailed: (.operationDenied, "the user could not be verified")
      case .verificationBlocked: (.pinBlocked, Self.verificationBlocked)
      }
    self.init(status, reason, prompt: error, file: file, line: line)
  }

  static let verificationBlocked = "verification is blocked until the vault is unlocked with its passphrase"

  /// Maps an error in making, reading or writing credentials; a store's reason and hint name the file and what to do.
  public init(_ error: RecoveryError, file: String = #fileID, line: UInt = #line) {
    let status: CTAPStatus =
      switch error.kind {
      case .full, .diskFull: .keyStoreFull
      case .policy, .pairing: .invalidParameter
      case .userIDLength: .invalidLength
      case .store, .system, .notReplaced, .noKey, .key, .lastEpoch, .rotation: .other
      case .notAuthentic, .malformed, .columnsExchanged, .newerVersion, .anotherPhrase: .other
      }
    self.init(status, error.description, file: file, line: line)
    command = error.command
  }

  /// Maps an error in deriving or using a key.
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
