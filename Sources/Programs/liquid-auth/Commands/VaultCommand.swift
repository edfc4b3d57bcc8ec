import ArgumentParser
import ControlProtocol
import CredentialDB
import CryptoPrimitives
import Glibc
import ProcessIO
import ProtectorProtocol
import Recovery
import StateDirectory
import Vault

/// `liquid-auth vault`.
struct VaultCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "vault",
    abstract: "Show and change what unlocks the vault.",
    discussion: """
      A vault has one or more slots, and each of them can unlock it. If you can no longer unlock it, make a new vault \
      from the phrase with `liquid-auth init --import`, or from shares with `liquid-auth recover --shares`. The commands \
      work with and without a running authenticator. A change replaces the file of the vault in one step: if it fails, \
      the vault is as it was. If the change is done, but a power failure can still undo it, a warning says so.
      """,
    subcommands: [List.self, Passphrase.self, Add.self, Remove.self, Counter.self])

  struct List: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the slots of the vault.", discussion: "Needs no passphrase.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let slots = try SlotReport.all(place.slots())
      output.write(
        table([["SLOT", "UNLOCKED BY"]] + slots.map { ["\($0.number)", $0.text] }), json: .array(slots.map(\.json)))
    }
  }

  struct Passphrase: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Change the passphrase.",
      discussion: """
        Asks for the present passphrase, then for the new one, twice; without a terminal, they are the first two lines \
        of standard input. A running authenticator then locks the vault, and asks for the new passphrase from then on. \
        Passkeys and accounts stay as they are. A copy of the old file still opens with the old passphrase.
        """)
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      var typed: SecretBytes?
      let vault = try OwnedVault(at: place) { (present) throws(CommandFailure) in
        typed = try PassphraseInput.new(replacing: present)
      }
      let passphrase = try typed ?? PassphraseInput.new(replacing: vault.passphrase)
      let (salt, cost) = (randomBytes(Argon2id.saltSize), PassphraseCost.standard)
      let key: SecretBytes
      do { key = try cost.key(passphrase: passphrase, salt: salt) } catch { throw CommandFailure("\(error)") }
      try vault.seal(for: .passphrase(salt: salt, cost: cost), key: key)
      output.write("the passphrase is changed; the vault is locked", json: ["passphrase": .string("changed")])
    }
  }

  struct Add: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add another way to unlock the vault.",
      discussion: """
        Asks for the passphrase, which stays valid. With secret-service, a random key in the keyring of your session \
        (GNOME Keyring, KWallet or KeePassXC) also unlocks the vault: while the keyring is open, no passphrase is \
        needed to unlock. With tpm, a random key that only the TPM 2.0 of this machine can unseal also unlocks the \
        vault. With fido2, a key that a FIDO2 security key computes after a touch does; plug in only this security key. \
        With systemd-creds, a random key that systemd decrypts for you on this machine does; it needs systemd 256 or later. \
        A slot without a PIN unlocks the vault without you, except for the touch of a security key. After a lock, it \
        is used only after a prompt, and not for a request without user presence. \
        If a site requires verification, you still verify by the passphrase, a fingerprint or PAM.

        keyring, security-key and systemd are other names for secret-service, fido2 and systemd-creds.
        """)
    @Argument(help: "What unlocks the vault: tpm, fido2, secret-service or systemd-creds.")
    var type: ProtectorChoice
    @Flag(help: "Unlock also when the authenticator starts, not only for a request.")
    var autoUnlock = false
    @Flag(help: "Ask for a PIN: a new one, which the TPM protects against guessing, or that of the security key.")
    var pin = false
    @Option(
      help: ArgumentHelp(
        "Unlock only while these registers of the TPM (PCRs) keep their present values, for example 7 (only for tpm).",
        valueName: "n,n…"),
      transform: registers)
    var pcrs: [Int] = []
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
      if pin && autoUnlock {
        throw ValidationError("a slot with a PIN cannot unlock at the start; omit --pin or --auto-unlock")
      }
      if type != .tpm && !pcrs.isEmpty { throw ValidationError("--pcrs is only for tpm") }
      if pin && type != .tpm && type != .fido2 { throw ValidationError("--pin is only for tpm and fido2") }
    }

    func run() throws {
      // Without a vault in this directory, the next line says so.
      let others = try check(beside: (try? place.slots()) ?? [])
      var newPIN: SecretBytes?
      let vault = try OwnedVault(at: place) { _ throws(CommandFailure) in
        if pin && type == .tpm { newPIN = try PINInput.new(minimum: Self.shortestPIN) }
      }
      // Asked before the key is made: if the authenticator has ended, no key is left behind.
      let directory = try vault.stateDirectory()
      let protector: VaultSlot.Protector
      let key: SecretBytes
      switch type {
      case .tpm:
        let conditions = TPMSlot.Conditions(hasPIN: pin, pcrs: pcrs)
        let answer = try ProtectorProgram.ask(
          .make, type: VaultSlot.Protector.tpmType, data: conditions.encoded,
          pin: pin ? newPIN ?? PINInput.new(minimum: Self.shortestPIN) : nil)
        protector = .tpm(TPMSlot(conditions: conditions, object: answer.data, autoUnlock: autoUnlock))
        key = answer.key
      case .fido2:
        let answer = try securityKey()
        guard let slot = SecurityKeySlot(publicData: answer.data, autoUnlock: autoUnlock), slot.hasPIN == pin else {
          throw ProtectorProgram.failure(.malformed(.protector))
        }
        (protector, key) = (.securityKey(slot), answer.key)
      case .secretService:
        protector = .secretService(id: randomBytes(16), autoUnlock: autoUnlock)
        key = try ProtectorProgram.ask(.make, type: protector.type, data: protector.publicData ?? []).key
      case .systemdCreds:
        let answer = try ProtectorProgram.ask(.make, type: VaultSlot.Protector.systemdCredentialType, data: [])
        protector = .systemdCredential(answer.data, autoUnlock: autoUnlock)
        key = answer.key
      }
      do throws(CommandFailure) {
        try vault.seal(for: protector, key: key)
      } catch {
        // Only the key of a slot that is not there is deleted.
        if let slots = try? directory.slots(), !slots.contains(where: { $0.protector == protector }) {
          _ = ProtectorProgram.remains(of: protector)
        }
        throw error
      }
      // The slot is added, also if the vault cannot be read again.
      let number = (try? place.slots())?.lastIndex { $0.protector == protector }.map { $0 + 1 }
      let slot = number.map { JSON.number(Int64($0)) } ?? .null
      var report: JSON = ["added": .string(type.rawValue), "slot": slot, "autoUnlock": .bool(autoUnlock)]
      switch protector {
      case .tpm(let added): report = added.conditions.report(slot, autoUnlock)
      case .securityKey(let added): report = added.report(slot)
      default: break
      }
      output.write(
        "the \(protector.name) now unlocks the vault, too\(number.map { ", as slot \($0)" } ?? ""); the passphrase stays "
          + "valid\(Self.meaning(of: protector).map { "\n\($0)" } ?? "")", json: report)
      if !others.isEmpty {
        StandardStream.error.write("liquid-auth: \(Self.advice(others, type, at: place))")
      }
    }

    /// What a slot without a PIN means; `nil` for one with a PIN.
    static func meaning(of protector: VaultSlot.Protector) -> String? {
      guard !protector.needsPerson else { return nil }
      if case .securityKey = protector {
        return "the slot has no PIN: anyone who touches the security key at this machine unlocks the vault"
      }
      return
        "the slot has no PIN: it unlocks the vault without you, also for your other programs; after a lock, a prompt "
        + "asks you first"
    }

    /// Makes a credential with the security key; asks for its PIN if the slot has one, or if the key needs it here.
    private func securityKey() throws(CommandFailure) -> ProtectorAnswer {
      let (type, data) = (VaultSlot.Protector.securityKeyType, [UInt8(pin ? 1 : 0)])
      if !pin {
        do throws(ProtectorFailure) {
          return try ProtectorProgram.answer(ProtectorRequest(.make, type: type, data: data))
        } catch  where error.kind == .pinNeeded {
        } catch {
          throw ProtectorProgram.failure(error)
        }
      }
      return try ProtectorProgram.ask(.make, type: type, data: data, pin: PINInput.ofSecurityKey())
    }

    /// The fewest characters of a PIN.
    private static let shortestPIN = 4

    /// Reads the numbers of registers; each number is kept once, in ascending order.
    private static func registers(_ text: String) throws -> [Int] {
      let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
      guard numbers.count <= 8, numbers.allSatisfy({ $0.map { 0...23 ~= $0 } ?? false }) else {
        throw ValidationError("registers are 1 to 8 numbers from 0 to 23, separated by commas")
      }
      return Set(numbers.compactMap(\.self)).sorted()
    }
  }

  struct Remove: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove a slot.",
      discussion: "Asks for the passphrase. Does not remove the passphrase.")
    @Argument(help: "The slot's number in `liquid-auth vault list`.", transform: wholeNumber(1...Int(UInt16.max)))
    var slot: Int
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let slots = try place.slots()
      guard slots.indices.contains(slot - 1) else {
        throw CommandFailure(
          "the vault has no slot \(slot)", hint: "list the slots with:", run: ["liquid-auth", "vault", "list"],
          code: .absent)
      }
      let removed = slots[slot - 1]
      guard !removed.protector.isPassphrase || slots.count(where: { $0.protector.isPassphrase }) > 1 else {
        let refusal = VaultError.lastSlot
        throw CommandFailure(
          Problem(refusal.reason, hint: refusal.hint, remedy: refusal.command.map { Remedy($0) }))
      }
      try OwnedVault(at: place).removeSlot(removed.id)
      let remains = ProtectorProgram.remains(of: removed.protector)
      output.write(
        Self.text(removing: SlotReport(number: slot, protector: removed.protector), of: slots.count)
          + (remains.map { "; \($0)" } ?? ""),
        json: ["removed": .number(Int64(slot)), "remains": JSON(remains)])
    }

    /// What was removed, and what happened to the numbers of the slots, of which there were `count`.
    static func text(removing slot: SlotReport, of count: Int) -> String {
      (["slot \(slot.number), \(slot.name), is removed"]
        + (slot.number..<count).map { "slot \($0 + 1) is now slot \($0)" }).joined(separator: "; ")
    }
  }
}
