import ControlProtocol
import Vault

/// One slot, before it is text or JSON.
struct SlotReport: Equatable {
  /// From 1, in the order in which the slots are tried.
  let number: Int
  let protector: VaultSlot.Protector

  static func all(_ slots: [VaultSlot]) -> [SlotReport] {
    zip(1..., slots).map { number, slot in
      // An earlier version added it: it does not unlock at the start.
      SlotReport(number: number, protector: slot.isOfEarlierVersion ? slot.protector.untrusted : slot.protector)
    }
  }

  /// For people, with what to do about a damaged slot.
  var text: String {
    guard case .damaged = protector else { return name }
    return "\(name): it unlocks nothing; remove the slot, and add it again"
  }

  /// What unlocks the slot, for people.
  var name: String {
    switch protector {
    case .passphrase(_, let cost): "a passphrase (Argon2id, \(cost.memLimit >> 20) MiB, \(cost.opsLimit) passes)"
    case .tpm(let slot): slot.text
    case .securityKey(let slot):
      "a FIDO2 security key, with a touch\(slot.hasPIN ? " and its PIN" : ""), "
        + "\(slot.autoUnlock ? "at the start and " : "")for a request"
    case .secretService(_, let autoUnlock):
      "the keyring of your session (Secret Service), \(autoUnlock ? "at the start and " : "")for a request"
    case .systemdCredential(_, let autoUnlock):
      "systemd on this machine (systemd-creds), \(autoUnlock ? "at the start and " : "")for a request"
    case .unknown(let type): "type \(type), which this version does not know"
    case .damaged: "\(protector.name), damaged"
    }
  }

  /// For programs.
  var json: JSON {
    let slot = JSON.number(Int64(number))
    return switch protector {
    case .passphrase(_, let cost):
      [
        "slot": slot, "type": .string("passphrase"), "memory": .number(Int64(cost.memLimit)),
        "passes": .number(Int64(cost.opsLimit)),
      ]
    case .tpm(let tpm):
      [
        "slot": slot, "type": .string(ProtectorChoice.tpm.rawValue), "autoUnlock": .bool(tpm.autoUnlock),
        "pin": .bool(tpm.conditions.hasPIN), "pcrs": tpm.conditions.pcrList,
      ]
    case .securityKey(let key):
      [
        "slot": slot, "type": .string(ProtectorChoice.fido2.rawValue), "autoUnlock": .bool(key.autoUnlock),
        "pin": .bool(key.hasPIN),
      ]
    case .secretService(let id, let autoUnlock):
      [
        "slot": slot, "type": .string(ProtectorChoice.secretService.rawValue), "id": .hex(id),
        "autoUnlock": .bool(autoUnlock),
      ]
    case .systemdCredential(_, let autoUnlock):
      [
        "slot": slot, "type": .string(ProtectorChoice.systemdCreds.rawValue), "autoUnlock": .bool(autoUnlock),
      ]
    case .unknown(let type): ["slot": slot, "type": .number(Int64(type))]
    case .damaged(let type): ["slot": slot, "type": .number(Int64(type)), "damaged": .bool(true)]
    }
  }
}

extension TPMSlot {
  /// For people.
  var text: String {
    let pin = conditions.hasPIN ? " with a PIN" : ""
    let list = conditions.pcrs.map { "\($0)" }.joined(separator: ", ")
    let pcrs =
      switch conditions.pcrs.count {
      case 0: ""
      case 1: ", while PCR \(list) is unchanged"
      default: ", while PCRs \(list) are unchanged"
      }
    return "the TPM of this machine\(pin)\(pcrs), "
      + "\(autoUnlock ? "at the start and " : "")for a request"
  }
}

extension TPMSlot.Conditions {
  var pcrList: JSON { .array(pcrs.map { .number(Int64($0)) }) }

  /// What was added, for programs.
  func report(_ slot: JSON, _ autoUnlock: Bool) -> JSON {
    [
      "added": .string(ProtectorChoice.tpm.rawValue), "slot": slot, "autoUnlock": .bool(autoUnlock),
      "pin": .bool(hasPIN), "pcrs": pcrList,
    ]
  }
}

extension SecurityKeySlot {
  /// What was added, for programs.
  func report(_ slot: JSON) -> JSON {
    [
      "added": .string(ProtectorChoice.fido2.rawValue), "slot": slot, "autoUnlock": .bool(autoUnlock),
      "pin": .bool(hasPIN),
    ]
  }
}
