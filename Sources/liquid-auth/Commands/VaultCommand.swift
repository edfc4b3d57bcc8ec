import ArgumentParser
import ControlProtocol
import CryptoPrimitives
import Glibc
import ProcessIO
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
    subcommands: [List.self, Passphrase.self, Remove.self])

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

  struct Remove: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove a slot.",
      discussion: "Asks for the passphrase. Does not remove the last slot that can unlock the vault.")
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
      try OwnedVault(at: place).removeSlot(slots[slot - 1].id)
      output.write("slot \(slot) is removed", json: ["removed": .number(Int64(slot))])
    }
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
    case .unknown(let type): ["slot": slot, "type": .number(Int64(type))]
    }
  }
}
