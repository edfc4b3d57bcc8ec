extension SocketIOMachine {
  /// Path and query of what is asked of the server: Engine.IO 4 at Socket.IO's own path.
  enum Target {
    /// Of the web socket.
    static let webSocket = "/socket.io/?EIO=4&transport=websocket"
    /// Of the poll that opens a session.
    static let polling = "/socket.io/?EIO=4&transport=polling"

    /// Of every other exchange of a session.
    ///
    /// Its name is the server's text: all but the unreserved characters of RFC 3986 is percent-encoded.
    static func polling(sid: String) -> String { "\(polling)&sid=\(percentEncoded(sid))" }

    private static let digits = Array("0123456789ABCDEF".utf8)
    private static let marks = Array("-._~".utf8)

    private static func percentEncoded(_ text: String) -> String {
      let bytes = text.utf8.flatMap { byte -> [UInt8] in
        let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte.lowercasedASCII)
        if isLetter || byte.isASCIIDigit || marks.contains(byte) { return [byte] }
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
}
