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
      from the phrase with `liquid-auth init --import`. The commands work with and without a running authenticator. A \
      change replaces the file of the vault in one step: if it fails, the vault is as it was.
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
      let vault = try OwnedVault(at: place)
      let passphrase = try PassphraseInput.new()
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
        If a site requires verification, you still verify by the passphrase, a fingerprint or PAM.
        """)
    @Argument(help: "What unlocks the vault.")
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
      try check(beside: (try? place.slots()) ?? [])
      let vault = try OwnedVault(at: place)
      let protector: VaultSlot.Protector
      let key: SecretBytes
      switch type {
      case .tpm:
        let conditions = TPMSlot.Conditions(hasPIN: pin, pcrs: pcrs)
        let answer = try ProtectorProgram.ask(
          .make, type: VaultSlot.Protector.tpmType, data: conditions.encoded,
          pin: pin ? PINInput.new(minimum: Self.shortestPIN) : nil)
        protector = .tpm(TPMSlot(conditions: conditions, object: answer.data, autoUnlock: autoUnlock))
        key = answer.key
      case .fido2:
        let answer = try securityKey()
        protector = .securityKey(
          SecurityKeySlot(
            credentialID: Array(answer.data.dropFirst(SecurityKeySlot.saltSize)),
            salt: Array(answer.data.prefix(SecurityKeySlot.saltSize)), hasPIN: pin, autoUnlock: autoUnlock))
        key = answer.key
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
        _ = ProtectorProgram.remains(of: protector)
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
          + "valid", json: report)
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
          "the vault has no slot \(slot); list the slots with: liquid-auth vault list", code: .absent)
      }
      let removed = slots[slot - 1]
      try OwnedVault(at: place).removeSlot(removed.id)
      let remains = ProtectorProgram.remains(of: removed.protector)
      output.write(
        Self.text(removing: slot, of: slots.count) + (remains.map { "; \($0)" } ?? ""),
        json: ["removed": .number(Int64(slot)), "remains": JSON(remains)])
    }

    /// What happened to the numbers of the slots, of which there were `count`.
    static func text(removing slot: Int, of count: Int) -> String {
      (["slot \(slot) is removed"] + (slot..<count).map { "slot \($0 + 1) is now slot \($0)" }).joined(separator: "; ")
    }
  }
}

/// What `liquid-auth vault add` can add.
enum ProtectorChoice: String, ExpressibleByArgument, CaseIterable {
  case tpm
  case fido2
  case secretService = "secret-service"
  case systemdCreds = "systemd-creds"
}

/// `liquid-auth-protector`, which keeps the keys of slots elsewhere.
enum ProtectorProgram {
  /// Runs the program for one request, until it ends; a keyring may ask the person meanwhile.
  static func ask(
    _ operation: ProtectorRequest.Operation, type: UInt8, data: [UInt8], pin: SecretBytes? = nil
  ) throws(CommandFailure) -> ProtectorAnswer {
    do throws(ProtectorFailure) {
      return try answer(ProtectorRequest(operation, type: type, data: data, pin: pin))
    } catch {
      throw failure(error)
    }
  }

  static func failure(_ failure: ProtectorFailure) -> CommandFailure {
    CommandFailure(failure.description, code: failure.kind == .absent ? .absent : .failed)
  }

  /// What is left of a removed slot, if something is; it opens nothing.
  static func remains(of protector: VaultSlot.Protector) -> String? {
    // Only a keyring stores the key of a slot.
    guard case .secretService(let id, _) = protector else { return nil }
    do {
      _ = try answer(ProtectorRequest(.delete, type: protector.type, data: id))
      return nil
    } catch {
      if error.kind == .absent { return nil }
      return "its key in the keyring opens nothing any more, and was not deleted: \(error)"
    }
  }

  static func answer(_ request: ProtectorRequest) throws(ProtectorFailure) -> ProtectorAnswer {
    let path = OwnProgram.path(ofInternal: "liquid-auth-protector")
    let (input, output): ((read: Int32, write: Int32), (read: Int32, write: Int32))
    do throws(SystemNumber) {
      (input, output) = (try Descriptor.pipe(), try Descriptor.pipe())
    } catch {
      throw ProtectorFailure(.failed, "\(path) cannot be started: \(error); end other programs")
    }
    let brokenPipe = signal(SIGPIPE, SIG_IGN)
    defer { signal(SIGPIPE, brokenPipe) }
    let process: pid_t
    do {
      defer {
        close(input.read)
        close(output.write)
      }
      do throws(SystemNumber) {
        process = try Child.start([path], input: input.read, output: output.write, errorOutput: STDERR_FILENO)
      } catch {
        close(input.write)
        close(output.read)
        throw ProtectorFailure(.failed, "\(path) cannot be started: \(error); install it again")
      }
    }
    defer {
      close(input.write)
      close(output.read)
      Child.reap(process)
    }
    return try ProtectorPipe.ask(
      request, input: input.write, output: output.read, until: .now + ProtectorMessage.timeLimit + .seconds(5),
      Cancellation())
  }
}

extension PlaceOptions {
  /// The slots of the vault, which are read without a passphrase.
  fileprivate func slots() throws(CommandFailure) -> [VaultSlot] {
    let path = try statePath()
    return try orFailure { () throws(StateDirectoryError) in try StateDirectory(opening: path).slots() }
  }
}

/// A vault whose passphrase the user has typed, and whose slots can be changed: by the authenticator that works on its
/// directory, or here if none runs.
private enum OwnedVault {
  case there(ControlConnection)
  case here(StateDirectory, DirectoryLock, UnlockedVault)

  /// Asks for the passphrase.
  init(at place: PlaceOptions) throws(CommandFailure) {
    do throws(CommandFailure) {
      self = .there(try place.connectAsOwner())
    } catch  where error.code == .notRunning {
      let path = try place.statePath()
      let directory = try orFailure { () throws(StateDirectoryError) in try StateDirectory(opening: path) }
      let lock = try orFailure(directory.lock)
      let unlocked = try PassphraseInput.tried { (passphrase) throws(CommandFailure) in
        try orFailure { () throws(StateDirectoryError) in try directory.unlock(passphrase: passphrase) }
      }
      self = .here(directory, lock, unlocked)
    }
  }

  func seal(for protector: VaultSlot.Protector, key: SecretBytes) throws(CommandFailure) {
    switch self {
    case .there(let connection): try connection.ask(SealSlot(key: key, protector: protector.members))
    case .here(_, _, let unlocked):
      try change(recordedAs: protector.isPassphrase ? .changePassphrase : .addSlot) { (file) throws(VaultError) in
        var generator = SystemRandomNumberGenerator()
        try file.seal(unlocked, for: protector, key: key, using: &generator)
      }
    }
  }

  func removeSlot(_ id: [UInt8]) throws(CommandFailure) {
    switch self {
    case .there(let connection): try connection.ask(RemoveSlot(id: id))
    case .here: try change(recordedAs: .removeSlot) { (file) throws(VaultError) in try file.removeSlot(id) }
    }
  }

  private func change(
    recordedAs kind: HistoryEntry.Kind, _ change: (inout VaultFile) throws(VaultError) -> Void
  ) throws(CommandFailure) {
    guard case .here(let directory, let lock, let unlocked) = self else { return }
    defer { withExtendedLifetime(lock) {} }
    _ = try orFailure { () throws(StateDirectoryError) in try directory.changeSlots(change) }
    let entry = HistoryEntry(
      time: unixMilliseconds(), site: nil, kind: kind, outcome: .done, verification: .passphrase)
    do {
      let keys = CredentialKeys(mainKey: unlocked.content.mainKey)
      try directory.openStore(of: unlocked.content, keys: keys).append(entry)
    } catch {
      // The change is done, and a store that does not open must not prevent it.
      StandardStream.error.write("liquid-auth: the change is not in the history: \("\(error)".printable)")
    }
  }
}

/// One slot, before it is text or JSON.
struct SlotReport: Equatable {
  /// From 1, in the order in which the slots are tried.
  let number: Int
  let protector: VaultSlot.Protector

  static func all(_ slots: [VaultSlot]) -> [SlotReport] {
    slots.enumerated().map { SlotReport(number: $0.offset + 1, protector: $0.element.protector) }
  }

  /// For people.
  var text: String {
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
    case .damaged: "\(protector.name), damaged: it unlocks nothing; remove the slot, and add it again"
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
  fileprivate var text: String {
    let pin = conditions.hasPIN ? " with a PIN" : ""
    let pcrs = conditions.pcrs.map { "\($0)" }.joined(separator: ", ")
    return "the TPM of this machine\(pin)\(pcrs.isEmpty ? "" : ", while PCRs \(pcrs) are unchanged"), "
      + "\(autoUnlock ? "at the start and " : "")for a request"
  }
}

extension TPMSlot.Conditions {
  fileprivate var pcrList: JSON { .array(pcrs.map { .number(Int64($0)) }) }

  /// What was added, for programs.
  fileprivate func report(_ slot: JSON, _ autoUnlock: Bool) -> JSON {
    [
      "added": .string(ProtectorChoice.tpm.rawValue), "slot": slot, "autoUnlock": .bool(autoUnlock),
      "pin": .bool(hasPIN), "pcrs": pcrList,
    ]
  }
}

extension SecurityKeySlot {
  /// What was added, for programs.
  fileprivate func report(_ slot: JSON) -> JSON {
    [
      "added": .string(ProtectorChoice.fido2.rawValue), "slot": slot, "autoUnlock": .bool(autoUnlock),
      "pin": .bool(hasPIN),
    ]
  }
}
