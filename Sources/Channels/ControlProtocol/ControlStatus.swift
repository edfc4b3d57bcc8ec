package import CBOR

/// The first byte of an answer: CTAP's own value where there is one, CTAP §6.3, otherwise one of its vendor range.
package struct ControlStatus: RawRepresentable, Hashable, Sendable {
  /// The byte on the wire.
  package let rawValue: UInt8

  /// Takes any byte; a newer authenticator may send unknown ones.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Done.
  package static let ok = Self(rawValue: 0x00)
  /// No such command.
  package static let invalidCommand = Self(rawValue: 0x01)
  /// A member has a value that is not allowed.
  package static let invalidParameter = Self(rawValue: 0x02)
  /// The message is empty or too long.
  package static let invalidLength = Self(rawValue: 0x03)
  /// A member has another CBOR type.
  package static let unexpectedType = Self(rawValue: 0x11)
  /// Not canonical CBOR, or not a map.
  package static let invalidCBOR = Self(rawValue: 0x12)
  /// A required member is missing.
  package static let missingParameter = Self(rawValue: 0x14)
  /// The user or a policy refused, or no prompt could be shown; the reason says which.
  package static let operationDenied = Self(rawValue: 0x27)
  /// The request was withdrawn.
  package static let keepaliveCancel = Self(rawValue: 0x2D)
  /// No such credential.
  package static let noCredentials = Self(rawValue: 0x2E)
  /// The user did not answer in time.
  package static let userActionTimeout = Self(rawValue: 0x2F)
  /// Not now, or not on this credential.
  package static let notAllowed = Self(rawValue: 0x30)
  /// It failed; the reason says why and what to do.
  package static let other = Self(rawValue: 0x7F)
  /// The first request was not a hello of this version.
  package static let versionMismatch = Self(rawValue: 0xF0)
  /// This connection has not given the vault's passphrase.
  package static let passphraseRequired = Self(rawValue: 0xF1)
  /// It is not the vault's passphrase.
  package static let wrongPassphrase = Self(rawValue: 0xF2)
  /// The vault, the store or the device is missing or damaged; the reason names it and says what to do.
  package static let unavailable = Self(rawValue: 0xF3)
  /// Too many connections.
  package static let busy = Self(rawValue: 0xF4)
  /// The transactions name a wrong group id; ``ControlFailure/group`` is the right one.
  package static let wrongGroup = Self(rawValue: 0xF5)
  /// The account in use is not the signer of ``ControlFailure/transaction``.
  package static let notOurSigner = Self(rawValue: 0xF6)
  /// The data to sign cannot be decoded or shown; ``ControlFailure/transaction`` is the transaction's index.
  package static let cannotBeShown = Self(rawValue: 0xF7)
  /// There is no vault; the reason says what to do.
  package static let noVault = Self(rawValue: 0xF8)
  /// No answer yet: a prompt is open, ``ControlMessage/promptIsOpen``.
  package static let promptIsOpen = Self(rawValue: 0xF9)
}

/// Why a request failed.
package struct ControlFailure: Error, Sendable {
  /// The byte on the wire.
  package let status: ControlStatus
  /// What happened, and what to do; it never holds a secret.
  package let problem: Problem
  /// The index of the transaction at fault, from 0.
  package let transaction: UInt64?
  /// The right group id, 32 bytes, if the transactions name a wrong one.
  package let group: [UInt8]?

  package init(_ status: ControlStatus, _ problem: Problem, transaction: UInt64? = nil, group: [UInt8]? = nil) {
    (self.status, self.problem, self.transaction, self.group) = (status, problem, transaction, group)
  }

  package init(_ status: ControlStatus, _ reason: String, transaction: UInt64? = nil, group: [UInt8]? = nil) {
    self.init(status, Problem(reason), transaction: transaction, group: group)
  }

  package init(_ status: ControlStatus, _ reason: String, hint: String, run command: [String]) {
    self.init(status, Problem(reason, hint: hint, run: command))
  }

  /// Lower case, no full stop: what happened, then what to do.
  package var reason: String { problem.text }

  /// The failure for a CBOR error.
  package init(_ error: CBORError) {
    self.init(Self.status(of: error), error.description)
  }

  private static func status(of error: CBORError) -> ControlStatus {
    switch error {
    case .invalid: .invalidCBOR
    case .unexpectedType: .unexpectedType
    case .missing: .missingParameter
    }
  }

  /// The answer with this failure: status ‖ {1: reason, 2: transaction?, 3: group?, 4: problem, if it has more than a
  /// reason}.
  package var encoded: [UInt8] {
    var members: CBORMap = [1: .text(reason)]
    members[2] = transaction.map(CBORValue.unsigned)
    members[3] = group.map(CBORValue.bytes)
    if problem != Problem(reason) { members[4] = .map(problem.members) }
    return [status.rawValue] + CBOREncoder.encode(.map(members))
  }

  /// Reads the members after a status byte other than 0; skips unreadable ones.
  init(_ status: ControlStatus, decodingMembers bytes: [UInt8]) {
    let members = try? CBORMap(decodingMembers: bytes)
    let reason = (try? members?.optionalText(1)) ?? ""
    let problem = (try? members?.optionalMap(4)).flatMap { try? Problem($0) }
    self.init(
      status, problem ?? Problem(reason), transaction: try? members?.optionalUnsigned(2),
      group: try? members?.optionalBytes(3))
  }
}

extension ControlFailure: Equatable {
  /// Compares the status only, not the reason.
  package static func == (left: ControlFailure, right: ControlFailure) -> Bool { left.status == right.status }
}

extension ControlFailure: CustomStringConvertible {
  /// The reason, or the status byte where there is none.
  package var description: String {
    reason.isEmpty ? "the authenticator answered with status 0x\(String(status.rawValue, radix: 16))" : reason
  }
}
