import ProcessIO
import ProtectorProtocol
import Vault

extension VaultCommand.Add {
  /// Checks that the slot can be made and is of use, before the user types a secret.
  ///
  /// The slots are read from the file, which another program could have changed. Such a slot can only cause a refusal,
  /// which names it; its removal asks for the passphrase.
  ///
  /// - Returns: the numbers of other slots of the type that the user may no longer need, in ascending order.
  func check(beside slots: [VaultSlot]) throws(CommandFailure) -> [Int] {
    let conditions = TPMSlot.Conditions(hasPIN: pin, pcrs: pcrs)
    switch type {
    case .tpm: try find(VaultSlot.Protector.tpmType, conditions.encoded)
    case .fido2: try find(VaultSlot.Protector.securityKeyType, [pin ? 1 : 0])
    case .systemdCreds: try find(VaultSlot.Protector.systemdCredentialType, [])
    // The keyring is asked only after the passphrase: it may have to start, and can ask the user.
    case .secretService: break
    }
    var others: [Int] = []
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
      guard !isRepeated else {
        throw CommandFailure(
          "slot \(number) already uses this \(protector.name)", hint: "to add it again, first run:",
          run: Self.removal(number))
      }
      others.append(number)
    }
    return others
  }

  /// How to remove other slots of the type, the highest number first: a removal changes the numbers after it.
  ///
  /// - Parameter numbers: in ascending order, at least one.
  static func advice(_ numbers: [Int], _ type: ProtectorChoice, at place: PlaceOptions) -> String {
    let (numbers, isOne) = (Array(numbers.reversed()), numbers.count == 1)
    let list = numbers.map(String.init).joined(separator: " and ")
    return (isOne ? "slot \(list) is" : "slots \(list) are")
      + " also of the type \(type.rawValue); if you no longer need \(isOne ? "it" : "them"), "
      + numbers.map { "run: \(removal($0).joined(separator: " "))\(place.arguments)" }.joined(separator: "; then ")
  }

  private static func removal(_ number: Int) -> [String] { ["liquid-auth", "vault", "remove", String(number)] }

  private func find(_ type: UInt8, _ data: [UInt8]) throws(CommandFailure) {
    _ = try ProtectorProgram.ask(.find, type: type, data: data)
  }

  /// Whether the TPM or the security key of a slot is here now.
  private func isThere(_ protector: VaultSlot.Protector) -> Bool {
    (try? ProtectorProgram.ask(.find, type: protector.type, data: protector.publicData ?? [])) != nil
  }
}
