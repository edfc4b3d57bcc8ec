package import CBOR
package import CryptoPrimitives

/// Exports passkeys with their private keys: {1: [rp.id …]?, 2: start?}.
///
/// Without member 1, these are all passkeys of the store. Start 0 asks the user, who sees which passkeys these are, and
/// answers with the first page. The next requests read the other pages, each once and in order, on the same connection. It
/// needs the vault's passphrase on the connection. The export ends with the last page, with a request for another page, or
/// when the connection ends or locks the vault.
package struct ExportPasskeys: ControlCommand, Equatable {
  package static let code: UInt8 = 0x77
  /// The most relying parties of a request, all of which the dialog shows.
  package static let maximumSites = 16
  /// The most passkeys of a page, which fits into one message: a record has at most some kilobytes.
  package static let pageSize = 32
  /// Bytes of secrets for each passkey.
  package static let secretsSize = 96

  /// The relying parties' ids, 1 to ``maximumSites`` of them, or `nil` for all; only the first request needs it.
  package var sites: [String]?
  /// The place of the first passkey of the page: 0, or `next` of the page before.
  package var start: UInt64

  package init(sites: [String]?, start: UInt64 = 0) { (self.sites, self.start) = (sites, start) }

  package init(_ members: CBORMap) throws(ControlFailure) {
    sites = try members[1] == nil ? nil : members.texts(1, "a relying party's id")
    start = try decoded(members.optionalUnsigned(2)) ?? 0
    guard sites.map({ 1...Self.maximumSites ~= $0.count }) ?? true else {
      throw ControlFailure(.invalidLength, "an export is of 1 to \(Self.maximumSites) sites, or of all sites")
    }
  }

  package var members: CBORMap {
    CBORMap(present: [1: sites.map(CBORValue.texts), 2: start > 0 ? .unsigned(start) : nil])
  }

  /// {0: secrets, 1: [credential …], 2: total, 3: next?}.
  ///
  /// The secrets never pass through a `CBORValue`. For each passkey, in order, they are its private key (a P-256 scalar or
  /// an Ed25519 seed), CredRandomWithUV and CredRandomWithoutUV (CTAP §12.7), 32 bytes each.
  package struct Answer: ControlAnswer {
    package var secrets: SecretBytes
    /// The newest first.
    package var passkeys: [CredentialDescription]
    /// The number of all passkeys of the export.
    package var total: UInt64
    /// Where the next page starts; `nil` on the last one.
    package var next: UInt64?

    /// - Parameter secrets: ``secretsSize`` bytes for each of at least one passkey.
    package init(secrets: SecretBytes, passkeys: [CredentialDescription], total: UInt64, next: UInt64?) {
      (self.secrets, self.passkeys, self.total, self.next) = (secrets, passkeys, total, next)
    }

    /// Always throws: only ``init(decoding:)`` reads secrets.
    package init(_ members: CBORMap) throws(ControlFailure) {
      throw ControlFailure(.missingParameter, "the secrets are missing")
    }

    package init(decoding message: [UInt8]) throws(ControlFailure) {
      try Self.checkStatus(of: message)
      let limit = ExportPasskeys.pageSize * ExportPasskeys.secretsSize
      let (secrets, members) = try message.withUnsafeBytes { message in
        Result { () throws(ControlFailure) in
          try SecretMember.split(UnsafeRawBufferPointer(rebasing: message.dropFirst()), atMost: limit)
        }
      }.get()
      guard let secrets else { throw ControlFailure(.missingParameter, "the secrets are missing") }
      passkeys = []
      for element in try decoded(members.requiredArray(1)) {
        guard let map = element.map else { throw ControlFailure(.unexpectedType, "a credential is not a map") }
        passkeys.append(try CredentialDescription(map))
      }
      guard secrets.count == passkeys.count * ExportPasskeys.secretsSize else {
        throw ControlFailure(.invalidLength, "the secrets are not those of \(passkeys.count) passkeys")
      }
      self.secrets = secrets
      total = try decoded(members.requiredUnsigned(2))
      next = try decoded(members.optionalUnsigned(3))
    }

    package var members: CBORMap {
      CBORMap(present: [
        1: .array(passkeys.map { .map($0.members) }), 2: .unsigned(total), 3: next.map(CBORValue.unsigned),
      ])
    }

    package var encoded: [UInt8] {
      SecretMember.encode(command: ControlStatus.ok.rawValue, secret: secrets, members: members)
        .withUnsafeBytes { Array($0) }
    }

    /// The private key of the passkey at a place of the page, 32 bytes.
    package func privateKey(at place: Int) -> SecretBytes { part(place * ExportPasskeys.secretsSize, 32) }

    /// CredRandomWithUV and CredRandomWithoutUV of the passkey at a place of the page, 32 bytes each.
    package func credRandoms(at place: Int) -> (withUV: SecretBytes, withoutUV: SecretBytes) {
      let start = place * ExportPasskeys.secretsSize
      return (part(start + 32, 32), part(start + 64, 32))
    }

    private func part(_ start: Int, _ count: Int) -> SecretBytes {
      secrets.withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
    }
  }
}
