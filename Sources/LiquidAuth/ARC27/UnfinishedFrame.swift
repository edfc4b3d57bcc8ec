import CBOR

extension PeerChannel {
  /// Whether a message is the beginning of a frame of ARC-27 and not all of it: CBOR that is cut off, in base64 in a text.
  public static func isUnfinishedFrame(_ message: PeerMessage) -> Bool {
    switch message {
    case .text(let text): isUnfinishedFrame(text)
    case .binary(let bytes): LooseCBORDecoder.isCutOff(bytes)
    }
  }

  /// Whether a message is a frame of ARC-27, all of it: a CBOR map, in base64 in a text.
  public static func isFrame(_ message: PeerMessage) -> Bool {
    do throws(UnansweredFrame) {
      _ = try ARC27Frame.decode(message)
      return true
    } catch {
      return false
    }
  }

  private static func isUnfinishedFrame(_ text: String) -> Bool {
    if let bytes = Base64.decode(text), !LooseCBORDecoder.isCutOff(bytes) { return false }
    // Four characters stand for three bytes; up to three wait for the rest.
    let digits = text.utf8.prefix(text.utf8.count / 4 * 4)
    return Base64.decode(String(Substring(digits))).map(LooseCBORDecoder.isCutOff) ?? false
  }
}
