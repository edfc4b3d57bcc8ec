import CWebRTC
import LiquidAuth

/// Puts messages together again that GStreamer hands over in pieces, without a word which is the last.
///
/// A piece that is not the last has ``CWEBRTC_PIECE_SIZE`` bytes or more. A whole message may have as many, and then it
/// shows by itself that nothing is missing in it: what dApps send is base64 of CBOR, which says how long it is.
struct MessagePieces {
  private var text = ""

  /// - Returns: the message that ends with this piece, or what can be none; `nil` while more of it must come.
  mutating func take(_ piece: String) -> String? {
    guard !text.isEmpty || piece.utf8.count >= Int(CWEBRTC_PIECE_SIZE) else { return piece }
    text += piece
    let isUnfinished =
      piece.utf8.count >= Int(CWEBRTC_PIECE_SIZE) && text.utf8.count <= PeerChannel.maximumIncomingSize
      && PeerChannel.isUnfinishedFrame(text)
    guard !isUnfinished else { return nil }
    defer { text = "" }
    return text
  }
}
