/// Why the transport refuses: the one byte of a CTAPHID_ERROR (CTAP §11.2.9.1.6).
public enum CTAPHIDError: UInt8, Error, Hashable, Sendable, CaseIterable {
  /// ERR_INVALID_CMD: the command is unknown or not offered.
  case invalidCommand = 0x01
  /// ERR_INVALID_PAR: a parameter of the command is out of range.
  case invalidParameter = 0x02
  /// ERR_INVALID_LEN: the message is too long, or not as long as the command wants.
  case invalidLength = 0x03
  /// ERR_INVALID_SEQ: a packet came out of its order.
  case invalidSequence = 0x04
  /// ERR_MSG_TIMEOUT: the rest of a message did not come.
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
