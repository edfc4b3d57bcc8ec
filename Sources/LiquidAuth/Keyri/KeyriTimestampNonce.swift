/// What a login signs: 13 digits of milliseconds since 1970, `_`, and a nonce.
///
/// A server takes it for 60 seconds, and must take it once.
struct KeyriTimestampNonce: Equatable {
  /// Milliseconds for which a server takes it.
  static let lifetime: UInt64 = 60_000
  /// Random bytes in the nonce; it is written in hexadecimal, so that `_` comes once.
  static let nonceSize = 16

  /// When it was made, milliseconds since 1970.
  let milliseconds: UInt64
  /// The text, 46 characters.
  let text: String

  /// - Throws: ``KeyriError/clock`` unless the milliseconds have exactly 13 digits: servers cut so many off, and a number
  ///   of another length would be read as another time.
  init(at milliseconds: UInt64, nonce: [UInt8]) throws(KeyriError) {
    guard (1_000_000_000_000...9_999_999_999_999).contains(milliseconds) else { throw .clock }
    self.milliseconds = milliseconds
    text = "\(milliseconds)_" + nonce.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Whether a server would still take it; a clock that was set back in between counts as late.
  func isFresh(at now: UInt64) -> Bool { now >= milliseconds && now - milliseconds < Self.lifetime }
}
