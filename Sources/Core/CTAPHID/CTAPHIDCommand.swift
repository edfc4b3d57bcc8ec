/// A command of the transport, without the bit that marks an initialization packet.
///
/// CTAP §11.2.9. Unknown codes are values too: a client may send any of them.
public struct CTAPHIDCommand: RawRepresentable, Hashable, Sendable {
  /// The command's seven bits.
  public let rawValue: UInt8

  /// Wraps a code; bit 7 is dropped.
  public init(rawValue: UInt8) { self.rawValue = rawValue & 0x7f }

  /// CTAPHID_PING: the payload comes back.
  public static let ping = CTAPHIDCommand(rawValue: 0x01)
  /// CTAPHID_MSG: one U2F message.
  public static let msg = CTAPHIDCommand(rawValue: 0x03)
  /// CTAPHID_LOCK: would keep other channels out for some seconds; the device refuses it.
  public static let lock = CTAPHIDCommand(rawValue: 0x04)
  /// CTAPHID_INIT: allocates a channel, or resynchronises the client's own.
  public static let initialize = CTAPHIDCommand(rawValue: 0x06)
  /// CTAPHID_WINK: the device shows the user which one it is.
  public static let wink = CTAPHIDCommand(rawValue: 0x08)
  /// CTAPHID_CBOR: one CTAP2 message.
  public static let cbor = CTAPHIDCommand(rawValue: 0x10)
  /// CTAPHID_CANCEL: the client withdraws its CBOR request.
  public static let cancel = CTAPHIDCommand(rawValue: 0x11)
  /// CTAPHID_KEEPALIVE: the device is still processing the request.
  public static let keepalive = CTAPHIDCommand(rawValue: 0x3b)
  /// CTAPHID_ERROR: the device refuses, with one byte for the reason.
  public static let error = CTAPHIDCommand(rawValue: 0x3f)
}

/// The status byte of a KEEPALIVE.
public enum KeepaliveStatus: UInt8, Sendable {
  /// The request is being processed.
  case processing = 1
  /// The device waits for the user.
  case upNeeded = 2
}

/// The capability flags in the answer to INIT (CTAP §11.2.9.1.3).
public struct Capabilities: OptionSet, Hashable, Sendable {
  /// The capability byte.
  public let rawValue: UInt8

  /// Wraps the byte.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// CTAPHID_WINK is implemented.
  public static let wink = Capabilities(rawValue: 0x01)
  /// CTAPHID_CBOR is implemented.
  public static let cbor = Capabilities(rawValue: 0x04)
  /// CTAPHID_MSG is **not** implemented.
  public static let nmsg = Capabilities(rawValue: 0x08)
}

/// An error of the transport: the one byte of a CTAPHID_ERROR (CTAP §11.2.9.1.6).
public enum CTAPHIDError: UInt8, Error, Hashable, Sendable, CaseIterable {
  /// ERR_INVALID_CMD: the command is unknown or not offered.
  case invalidCommand = 0x01
  /// ERR_INVALID_PAR: a parameter of the command is out of range.
  case invalidParameter = 0x02
  /// ERR_INVALID_LEN: the message is too long, or does not have the length that the command needs.
  case invalidLength = 0x03
  /// ERR_INVALID_SEQ: a packet is out of order.
  case invalidSequence = 0x04
  /// ERR_MSG_TIMEOUT: the rest of a message did not arrive in time.
  case messageTimeout = 0x05
  /// ERR_CHANNEL_BUSY: another client is being served; try again later.
  case channelBusy = 0x06
  /// ERR_LOCK_REQUIRED: the command needs the channel lock.
  case lockRequired = 0x0a
  /// ERR_INVALID_CHANNEL: nothing may be sent on this channel.
  case invalidChannel = 0x0b
  /// ERR_OTHER: anything else.
  case other = 0x7f
}
