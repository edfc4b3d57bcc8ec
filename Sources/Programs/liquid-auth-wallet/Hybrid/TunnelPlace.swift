import Hybrid

/// Where this machine reaches a tunnel service, and by which number the browser finds it.
struct TunnelPlace: Equatable {
  /// The number in the advert.
  let service: TunnelService
  /// `host[:port]` in place of the service's name; `nil` for the name.
  let authority: String?

  /// Host and port, for the web socket.
  var reached: String { authority ?? service.host }

  /// Makes the place of options or settings.
  ///
  /// - Parameters:
  ///   - number: by which the browser finds the service; `nil` for that of the address, or for 0.
  ///   - address: `wss://host[:port]`.
  /// - Throws: what is wrong, in lower case.
  init(number: UInt16?, address: String?) throws(WalletFailure) {
    let authority = try address.map { text throws(WalletFailure) in try Self.authority(of: text) }
    let named = number == nil ? authority.flatMap(Self.number) : nil
    guard number != nil || authority == nil || named != nil else {
      throw WalletFailure(
        "the browser finds a tunnel service by a number, and none has this name; give the number whose name leads to "
          + "this service: --tunnel-number", code: .mistake)
    }
    let chosen = number ?? named ?? 0
    guard let service = TunnelService(chosen) else {
      throw WalletFailure("no tunnel service has the number \(chosen); take 0, 1, or 256 to 65535", code: .mistake)
    }
    (self.service, self.authority) = (service, authority)
  }

  /// `host[:port]` of `wss://host[:port][/]`.
  private static func authority(of text: String) throws(WalletFailure) -> String {
    let address = text.hasSuffix("/") ? String(text.dropLast()) : text
    let scheme = "wss://"
    guard address.hasPrefix(scheme), let place = WebSocketPlace(address), scheme + place.authority == address else {
      throw WalletFailure("the address of a tunnel service is wss://HOST or wss://HOST:PORT", code: .mistake)
    }
    return place.authority
  }

  /// The number whose name is a host; the port must be that of wss.
  private static func number(of authority: String) -> UInt16? {
    (UInt16.min...UInt16.max).first { TunnelService($0)?.host == authority }
  }
}
