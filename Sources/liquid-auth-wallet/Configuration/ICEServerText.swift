import LiquidAuth

/// A STUN or TURN server as a person writes it: its address, and behind a TURN server's its user and password.
enum ICEServerText {
  /// Reads `stun:host[:port]` or `turn:host[:port][?transport=tcp] USER PASSWORD`.
  static func server(_ text: String) throws(ICEServerTextError) -> ICEServer {
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard let address = words.first else { throw ICEServerTextError("there is no address of a STUN or TURN server") }
    let url: ICEServerURL
    do {
      url = try ICEServerURL(address)
    } catch {
      throw ICEServerTextError("this is no STUN or TURN server: \(error)")
    }
    switch (url.kind, words.count) {
    case (.stun, 1): return ICEServer(urls: [address])
    case (.turn, 3): return ICEServer(urls: [address], username: words[1], credential: words[2])
    case (.stun, _): throw ICEServerTextError("nothing follows the address of a STUN server")
    case (.turn, _):
      throw ICEServerTextError("user and password follow the address of a TURN server: turn:HOST USER PASSWORD")
    }
  }
}

extension WalletConfiguration {
  /// A server that the command line names: a STUN server, or a TURN server whose user and password the file has.
  func iceServer(named text: String) throws(ICEServerTextError) -> ICEServer {
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard words.first?.lowercased().hasPrefix("turn:") == true else { return try ICEServerText.server(text) }
    guard words.count == 1 else {
      throw ICEServerTextError(
        "others on this machine can read a command line, and may have read this password; write the server into "
          + "\(file), as ice-server = turn:HOST USER PASSWORD, and name its address alone")
    }
    guard let server = iceServers?.first(where: { $0.urls == words }) else {
      throw ICEServerTextError("\(file) has no line for it: ice-server = \(words[0]) USER PASSWORD")
    }
    return server
  }
}

/// Why a text is no such server.
struct ICEServerTextError: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
