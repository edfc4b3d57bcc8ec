import CTAP2
import ControlProtocol
import CryptoPrimitives
import Recovery

/// The owner's command that takes private keys out of the authenticator.
///
/// It needs the vault's passphrase on the connection, and the user's agreement in a dialog, with verification if that is
/// set up. Then it takes a short turn with the ceremonies for each page.
enum ExportHandlers {
  static let all: [any ServedCommand.Type] = [ExportPasskeys.self]
}

extension ExportPasskeys: ServedCommand {
  func handle(in session: isolated ControlSession) async throws -> Answer {
    guard session.isVerified else { throw ControlSession.passphraseRequired }
    if start == 0 {
      session.dropTransfer()
      session.transfer = .exporting(try await session.agreement(toExportOf: sites), next: 0)
    }
    return try await session.page(ofExportFrom: start)
  }
}

extension ControlSession {
  /// Shows the user which passkeys would be exported.
  fileprivate func agreement(toExportOf sites: [String]?) async throws -> PasskeyExport {
    guard let verified else { throw Self.passphraseRequired }
    return try await service.inTurn(changes: false) { authenticator in
      let vault = try Self.serve(&authenticator, for: verified) { owner in owner.vault }
      return try await authenticator.agreement(toExportOf: sites, from: vault)
    }
  }

  /// The next page of the export to which the user agreed.
  fileprivate func page(ofExportFrom start: UInt64) async throws -> ExportPasskeys.Answer {
    guard case .exporting(let export, let first) = transfer, start == UInt64(first) else {
      dropTransfer()
      throw ControlFailure(.invalidParameter, "this is not the next page of an export; start at 0")
    }
    transfer = nil
    let tags = Array(export.accountTags[first...].prefix(ExportPasskeys.pageSize))
    let (found, keys) = try await asOwner(changes: false) { owner in
      (try tags.map { try owner.vault.store.entry(accountTag: $0)?.record }, owner.vault.keys)
    }
    let records = found.compactMap { $0 }
    guard records.count == tags.count else {
      throw ControlFailure(.notAllowed, "a passkey was removed while the command ran; run it again")
    }
    // Derives the keys, which takes longer than the queue may wait.
    let secrets = try await Self.work { () throws(RecoveryError) in try export.secrets(of: records, keys: keys) }
    let (next, total) = (first + tags.count, export.accountTags.count)
    if next < total { transfer = .exporting(export, next: next) }
    return ExportPasskeys.Answer(
      secrets: secrets,
      passkeys: records.map { record in
        var description = CredentialDescription(record)
        description.credBlob = record.credBlob
        return description
      },
      total: UInt64(total), next: next < total ? UInt64(next) : nil)
  }
}
