package import CBOR
package import CryptoPrimitives

// Commands for the connection, the vault as a whole, and the device.

/// The first request of every connection: {1: version, 2: hears of prompts?}.
package struct Hello: ControlCommand {
  package static let code: UInt8 = 0x50
  package static let wait = ControlWait.none

  /// The client's version.
  package var version: UInt64
  /// Whether ``ControlMessage/promptIsOpen`` may come before an answer.
  package var hearsOfPrompts: Bool

  package init(version: UInt64 = ControlMessage.version, hearsOfPrompts: Bool = false) {
    (self.version, self.hearsOfPrompts) = (version, hearsOfPrompts)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    version = try decoded(members.requiredUnsigned(1))
    hearsOfPrompts = try decoded(members.optionalBool(2)) ?? false
  }

  package var members: CBORMap { CBORMap(present: [1: .unsigned(version), 2: hearsOfPrompts ? true : nil]) }

  /// {1: version, 2: process id}.
  package struct Answer: ControlAnswer, Equatable {
    /// The version that the authenticator speaks.
    package var version: UInt64
    /// The authenticator's process.
    package var processID: Int32

    package init(version: UInt64 = ControlMessage.version, processID: Int32) {
      (self.version, self.processID) = (version, processID)
    }

    package init(_ members: CBORMap) throws(ControlFailure) {
      version = try decoded(members.requiredUnsigned(1))
      processID = try members.requiredInteger(2, as: Int32.self)
    }

    package var members: CBORMap { [1: .unsigned(version), 2: CBORValue(Int64(max(0, processID)))] }
  }
}

/// Locks the vault.
package struct Lock: PlainCommand {
  package static let code: UInt8 = 0x52
  package static let wait = ControlWait.none
  package init() {}
}

/// Unlocks the vault, and allows the owner's commands on this connection while it is unlocked.
package struct Unlock: SecretCommand {
  package static let code: UInt8 = 0x53
  package static let wait = ControlWait.work
  package var secret: SecretBytes
  package init(_ secret: SecretBytes) { self.secret = secret }
}

/// Unlocks the vault with a slot that needs no passphrase, as for a request; allows no command of the owner.
package struct UnlockBySlot: PlainCommand {
  package static let code: UInt8 = 0x7E
  package init() {}

  /// {1: whether the vault is unlocked}.
  package struct Answer: ControlAnswer, Equatable {
    package var isUnlocked: Bool

    package init(isUnlocked: Bool) { self.isUnlocked = isUnlocked }
    package init(_ members: CBORMap) throws(ControlFailure) { isUnlocked = try decoded(members.requiredBool(1)) }
    package var members: CBORMap { [1: .bool(isUnlocked)] }
  }
}

/// Makes an empty store with a new `storeID` if the store is missing, Recovery §1.
package struct NewStore: SecretCommand {
  package static let code: UInt8 = 0x5A
  package var secret: SecretBytes
  package init(_ secret: SecretBytes) { self.secret = secret }
}

/// Accepts a store that was modified outside liquid-auth.
package struct AcceptStore: SecretCommand {
  package static let code: UInt8 = 0x6A
  package var secret: SecretBytes
  package init(_ secret: SecretBytes) { self.secret = secret }

  /// {1: how many entries of the history are kept}; none if it was modified, because then another one began.
  package struct Answer: ControlAnswer, Equatable {
    package var entries: UInt64

    package init(entries: UInt64) { self.entries = entries }
    package init(_ members: CBORMap) throws(ControlFailure) { entries = try decoded(members.requiredUnsigned(1)) }
    package var members: CBORMap { [1: .unsigned(entries)] }
  }
}

/// Attaches or detaches the device, or shows a closed prompt again: {1: action}.
///
/// A power cycle needs the passphrase on this connection.
package struct PlugDevice: ControlCommand {
  package static let code: UInt8 = 0x5B
  package static let wait = ControlWait.work

  /// An action on the device.
  package enum Action: UInt64, Sendable, CaseIterable {
    /// The device appears.
    case attach = 1
    /// The device disappears, as if unplugged.
    case detach = 2
    /// Detaches and attaches it: tokens, channels and all other state between requests are lost.
    case replug = 3
    /// The same, as after a power cycle: a reset is accepted for ten seconds, and the count of wrong PINs in a row
    /// restarts.
    case powerCycle = 4
    /// The prompt that the person closed, and that the device's client still waits for, is shown again.
    case askAgain = 5
  }

  package var action: Action

  package init(_ action: Action) { self.action = action }
  package init(_ members: CBORMap) throws(ControlFailure) {
    let number = try decoded(members.requiredUnsigned(1))
    guard let action = Action(rawValue: number) else {
      throw ControlFailure(.invalidParameter, "no such device action: \(number)")
    }
    self.action = action
  }

  package var members: CBORMap { [1: .unsigned(action.rawValue)] }
}

/// Tells the authenticator of a connection to a dApp, for the status, as long as this connection of the wallet lasts:
/// {1: is open}.
///
/// It names no dApp: any program can read the status.
package struct ReportDApp: ControlCommand, Equatable {
  package static let code: UInt8 = 0x94
  package static let wait = ControlWait.none

  /// Whether a channel is open; otherwise the wallet waits for the dApp to come back.
  package var isOpen: Bool

  package init(isOpen: Bool) { self.isOpen = isOpen }
  package init(_ members: CBORMap) throws(ControlFailure) { isOpen = try decoded(members.requiredBool(1)) }
  package var members: CBORMap { [1: .bool(isOpen)] }
}
