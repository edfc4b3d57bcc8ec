package import CBOR
package import CryptoPrimitives
package import Recovery

/// Sends a list of passkeys with their private keys, and imports it: {0: fragment, 1: offset, 2: size of the list}.
///
/// The list has the form of `PasskeyList`. It is sent in fragments, in order, on a connection with the vault's passphrase. The
/// answer to the last fragment has the result. The authenticator wipes the list after the last fragment, after a fragment out
/// of order, and when the connection ends or the vault is locked.
package struct ImportPasskeys: ControlCommand {
  package static let code: UInt8 = 0x74
  package static let maximumRequestSize = ControlMessage.maximumSize
  package var offset: UInt64
  package var size: UInt64
  /// 1 to ``BackupFragment/maximumSize`` bytes.
  package var fragment: SecretBytes

  package init(offset: UInt64, size: UInt64, fragment: SecretBytes) {
    (self.offset, self.size, self.fragment) = (offset, size, fragment)
  }

  /// Always throws: only ``init(decoding:)`` reads a fragment.
  package init(_ members: CBORMap) throws(ControlFailure) {
    throw ControlFailure(.missingParameter, "the fragment is missing")
  }

  package init(decoding body: UnsafeRawBufferPointer) throws(ControlFailure) {
    let (secret, members) = try SecretMember.split(body, atMost: BackupFragment.maximumSize)
    guard let secret else { throw ControlFailure(.missingParameter, "the fragment is missing") }
    fragment = secret
    offset = try decoded(members.requiredUnsigned(1))
    size = try decoded(members.requiredUnsigned(2))
  }

  package var members: CBORMap { [1: .unsigned(offset), 2: .unsigned(size)] }
  package var encoded: SecretBytes { SecretMember.encode(command: Self.code, secret: fragment, members: members) }

  /// {1: outcomes?}, a byte for each passkey of the list, as `PasskeyImportOutcome` numbers them.
  package struct Answer: ControlAnswer, Equatable {
    /// `nil` if more fragments must follow.
    package var outcomes: [PasskeyImportOutcome]?

    package init(outcomes: [PasskeyImportOutcome]?) { self.outcomes = outcomes }

    package init(_ members: CBORMap) throws(ControlFailure) {
      guard let numbers = try decoded(members.optionalBytes(1)) else { return }
      let outcomes = numbers.compactMap(PasskeyImportOutcome.init(rawValue:))
      guard outcomes.count == numbers.count else {
        throw ControlFailure(.invalidParameter, "unknown outcome of an import")
      }
      self.outcomes = outcomes
    }

    package var members: CBORMap { CBORMap(present: [1: outcomes.map { .bytes($0.map(\.rawValue)) }]) }
  }
}
