public import CBOR
public import CryptoPrimitives

// What concerns the connection, the vault as a whole, and the device.

/// The first request of every connection: {1: version}.
public struct Hello: ControlCommand {
  /// The command byte.
  public static let code: UInt8 = 0x50
  /// It never waits for a person.
  public static let wait = ControlWait.none

  /// The version that the client speaks.
  public var version: UInt64

  /// Says the version.
  public init(version: UInt64 = ControlMessage.version) { self.version = version }

  /// Reads the members.
  public init(_ members: CBORMap) throws(ControlFailure) { version = try told(members.requiredUnsigned(1)) }
  /// The members of the request.
  public var members: CBORMap { [1: .unsigned(version)] }

  /// {1: version, 2: process id}.
  public struct Answer: ControlAnswer, Equatable {
    /// The version that the authenticator speaks.
    public var version: UInt64
    /// The authenticator's process.
    public var processID: Int32

    /// Joins the members.
    public init(version: UInt64 = ControlMessage.version, processID: Int32) {
      self.version = version
      self.processID = processID
    }

    /// Reads the members.
    public init(_ members: CBORMap) throws(ControlFailure) {
      version = try told(members.requiredUnsigned(1))
      processID = try members.requiredInteger(2, as: Int32.self)
    }

    /// The members of the answer.
    public var members: CBORMap { [1: .unsigned(version), 2: CBORValue(Int64(max(0, processID)))] }
  }
}

/// Forgets what the vault holds.
public struct Lock: PlainCommand {
  /// The command byte.
  public static let code: UInt8 = 0x52
  /// It never waits for a person.
  public static let wait = ControlWait.none
  /// The only request there is.
  public init() {}
}

/// Opens the vault, and lets this connection manage credentials while the vault is open.
public struct Unlock: SecretCommand {
  /// The command byte.
  public static let code: UInt8 = 0x53
  /// Argon2id.
  public static let wait = ControlWait.work
  /// The vault's passphrase.
  public var secret: SecretBytes
  /// Asks with the passphrase.
  public init(_ secret: SecretBytes) { self.secret = secret }
}

/// Makes an empty store and a new `storeID`, where the store is missing, Recovery §1.
public struct NewStore: SecretCommand {
  /// The command byte.
  public static let code: UInt8 = 0x5A
  /// The vault's passphrase.
  public var secret: SecretBytes
  /// Asks with the passphrase.
  public init(_ secret: SecretBytes) { self.secret = secret }
}

/// Accepts a store that was modified outside liquid-auth.
public struct AcceptStore: SecretCommand {
  /// The command byte.
  public static let code: UInt8 = 0x6A
  /// The vault's passphrase.
  public var secret: SecretBytes
  /// Asks with the passphrase.
  public init(_ secret: SecretBytes) { self.secret = secret }
}

/// Plugs the device in or out: {1: action}; a power cycle needs the passphrase on this connection.
public struct PlugDevice: ControlCommand {
  /// The command byte.
  public static let code: UInt8 = 0x5B
  /// It never waits for a person.
  public static let wait = ControlWait.work

  /// What can be done to the device.
  public enum Action: UInt64, Sendable, CaseIterable {
    /// It appears.
    case attach = 1
    /// It is gone, as if pulled out.
    case detach = 2
    /// Out and in again: tokens, channels and all that one request leaves for the next are lost.
    case replug = 3
    /// Out and in again as after a power cycle: for ten seconds a reset is taken, and wrong PINs in a row are forgotten.
    case powerCycle = 4
  }

  /// What is to be done.
  public var action: Action

  /// Says what is to be done.
  public init(_ action: Action) { self.action = action }

  /// Reads the members.
  public init(_ members: CBORMap) throws(ControlFailure) {
    let number = try told(members.requiredUnsigned(1))
    guard let action = Action(rawValue: number) else {
      throw ControlFailure(.invalidParameter, "no such device action: \(number)")
    }
    self.action = action
  }

  /// The members of the request.
  public var members: CBORMap { [1: .unsigned(action.rawValue)] }
}
