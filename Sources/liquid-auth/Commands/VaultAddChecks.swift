import ProcessIO
import ProtectorProtocol
import Vault

extension VaultCommand.Add {
  /// Checks that the slot can be made and is of use, before the user types a secret; names another slot of the type.
  func check(beside slots: [VaultSlot]) throws(CommandFailure) {
    let conditions = TPMSlot.Conditions(hasPIN: pin, pcrs: pcrs)
    switch type {
    case .tpm: try find(VaultSlot.Protector.tpmType, conditions.encoded)
    case .fido2: try find(VaultSlot.Protector.securityKeyType, [pin ? 1 : 0])
    case .systemdCreds: try find(VaultSlot.Protector.systemdCredentialType, [])
    // The keyring is asked only after the passphrase: it may have to start, and can ask the user.
    case .secretService: break
    }
    for (number, protector) in zip(1..., slots.map(\.protector)) {
      let isRepeated: Bool
      switch (type, protector) {
      case (.tpm, .tpm(let slot)): isRepeated = slot.conditions == conditions && isThere(protector)
      case (.fido2, .securityKey):
        // A second security key is of use.
        guard isThere(protector) else { continue }
        isRepeated = true
      case (.secretService, .secretService), (.systemdCreds, .systemdCredential): isRepeated = false
      default: continue
      }
      let removal = "run: liquid-auth vault remove \(number)"
      guard !isRepeated else {
        throw CommandFailure("slot \(number) already uses this \(protector.name); to add it again, first \(removal)")
      }
      let note = "slot \(number) is of the type \(type.rawValue) too; if you do not need it any more, \(removal)"
      StandardStream.error.write("liquid-auth: \(place.completing(note))")
    }
  }

  private func find(_ type: UInt8, _ data: [UInt8]) throws(CommandFailure) {
    _ = try ProtectorProgram.ask(.find, type: type, data: data)
  }

  /// Whether the TPM or the security key of a slot is here now.
  private func isThere(_ protector: VaultSlot.Protector) -> Bool {
    (try? ProtectorProgram.ask(.find, type: protector.type, data: protector.publicData ?? [])) != nil
  }
}
