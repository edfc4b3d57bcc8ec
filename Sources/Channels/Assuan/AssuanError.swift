/// The errors of libgpg-error that pinentry and its clients use; the raw value is the low 16 bits of a code.
package enum AssuanError: UInt32, Sendable {
  /// GPG_ERR_GENERAL
  case general = 1
  /// GPG_ERR_TIMEOUT
  case timedOut = 62
  /// GPG_ERR_NOT_IMPLEMENTED
  case notImplemented = 69
  /// GPG_ERR_CANCELED
  case cancelled = 99
  /// GPG_ERR_NOT_CONFIRMED
  case notConfirmed = 114
  /// GPG_ERR_FULLY_CANCELED
  case fullyCancelled = 198
  /// GPG_ERR_ASS_UNKNOWN_CMD
  case unknownCommand = 275
  /// GPG_ERR_ASS_PARAMETER
  case malformed = 280

  /// Reads a code, whose bits for the source of the error are ignored; `nil` for another error.
  package init?(code: UInt32) { self.init(rawValue: code & 0xFFFF) }

  /// The code, with pinentry as the source of the error.
  package var code: UInt32 { 5 << 24 | rawValue }
}
