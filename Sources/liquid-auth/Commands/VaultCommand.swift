import ArgumentParser
import ControlProtocol
import CryptoPrimitives
import Glibc
import ProcessIO
import ProtectorProtocol
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
    subcommands: [List.self, Passphrase.self, Add.self, Remove.self])

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
        needed to unlock. If a site wants to verify you, a dialog still asks for the passphrase.
        """)
    @Argument(help: "What unlocks the vault.")
    var type: ProtectorChoice
    @Flag(help: "Unlock also when the authenticator starts, not only for a request.")
    var autoUnlock = false
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let vault = try OwnedVault(at: place)
      let protector: VaultSlot.Protector
      switch type {
      case .secretService: protector = .secretService(id: randomBytes(16), autoUnlock: autoUnlock)
      }
      let key = try ProtectorProgram.ask(.make, protector)
      do throws(CommandFailure) {
        try vault.seal(for: protector, key: key)
      } catch {
        _ = try? ProtectorProgram.ask(.delete, protector)
        throw error
      }
      output.write(
        "the keyring now unlocks the vault, too; the passphrase stays valid",
        json: ["added": .string(type.rawValue), "autoUnlock": .bool(autoUnlock)])
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
        "slot \(slot) is removed" + (remains.map { "; \($0)" } ?? ""),
        json: ["removed": .number(Int64(slot)), "remains": JSON(remains)])
    }
  }
}

/// What `liquid-auth vault add` can add.
enum ProtectorChoice: String, ExpressibleByArgument, CaseIterable {
  case secretService = "secret-service"
}

/// `liquid-auth-protector`, which keeps the keys of slots elsewhere.
private enum ProtectorProgram {
  /// Runs the program for one request, until it ends; a keyring may ask the person meanwhile.
  static func ask(
    _ operation: ProtectorRequest.Operation, _ protector: VaultSlot.Protector
  ) throws(CommandFailure) -> SecretBytes {
    do {
      return try answer(operation, protector)
    } catch {
      let code: CommandFailure.Code = (error as? ProtectorFailure)?.kind == .absent ? .absent : .failed
      throw CommandFailure("\(error)", code: code)
    }
  }

  /// What is left of a removed slot, if something is; it opens nothing.
  static func remains(of protector: VaultSlot.Protector) -> String? {
    guard protector.publicData != nil else { return nil }
    do {
      _ = try answer(.delete, protector)
      return nil
    } catch {
      if (error as? ProtectorFailure)?.kind == .absent { return nil }
      return "its key in the keyring opens nothing any more, and was not deleted: \(error)"
    }
  }

  private static func answer(
    _ operation: ProtectorRequest.Operation, _ protector: VaultSlot.Protector
  ) throws -> SecretBytes {
    let path = OwnProgram.path(ofInternal: "liquid-auth-protector")
    let (input, output) = (try Descriptor.pipe(), try Descriptor.pipe())
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
      ProtectorRequest(operation, type: protector.type, data: protector.publicData ?? []), input: input.write,
      output: output.read, until: .now + ProtectorMessage.timeLimit + .seconds(5), Cancellation())
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
      try change { (file) throws(VaultError) in
        var generator = SystemRandomNumberGenerator()
        try file.seal(unlocked, for: protector, key: key, using: &generator)
      }
    }
  }

  func removeSlot(_ id: [UInt8]) throws(CommandFailure) {
    switch self {
    case .there(let connection): try connection.ask(RemoveSlot(id: id))
    case .here: try change { (file) throws(VaultError) in try file.removeSlot(id) }
    }
  }

  private func change(_ change: (inout VaultFile) throws(VaultError) -> Void) throws(CommandFailure) {
    guard case .here(let directory, let lock, _) = self else { return }
    defer { withExtendedLifetime(lock) {} }
    _ = try orFailure { () throws(StateDirectoryError) in try directory.changeSlots(change) }
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
    case .secretService(_, let autoUnlock):
      "the keyring of your session (Secret Service), \(autoUnlock ? "at the start and " : "")for a request"
    case .unknown(let type): "type \(type), which this version does not know"
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
    case .secretService(let id, let autoUnlock):
      [
        "slot": slot, "type": .string(ProtectorChoice.secretService.rawValue), "id": .hex(id),
        "autoUnlock": .bool(autoUnlock),
      ]
    case .unknown(let type): ["slot": slot, "type": .number(Int64(type))]
    }
  }
}
