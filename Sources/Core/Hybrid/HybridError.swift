public import CryptoPrimitives

/// Why a `FIDO:/` code cannot be answered, or why its exchange ended.
public enum HybridError: Error, Hashable, Sendable {
  /// The text does not begin with `FIDO:/`.
  case noLink
  /// The rest is not the decimal digits of a number of bytes.
  case digits
  /// The bytes are not the map of a code, or its key is not a point of P-256.
  case content
  /// The code asks for a digital credential, not for a passkey.
  case digitalCredential
  /// The browser accepts no known channel.
  case channels
  /// The browser accepts only Bluetooth, which this machine does not offer now.
  case onlyBluetooth
  /// The browser does not accept Bluetooth, and this machine offers nothing else now.
  case noBluetooth
  /// The browser does not know this assigned tunnel service, or the number is not assigned.
  case tunnelService(UInt16)
  /// The tunnel service did not answer in time.
  case noTunnel
  /// The service answered without one valid routing id, or not with the protocol `fido.cable`.
  case tunnelAnswer
  /// No browser connected in time.
  case noBrowser
  /// The first message is not from a browser that shows this code and received this advert.
  case handshake
  /// A later message cannot be decrypted with the key of the exchange.
  case frame
  /// A message of an unsupported type, or more messages than an exchange may have.
  case message
  /// The browser sent no request in time.
  case noRequest
  /// The browser ended the exchange before the answer.
  case browserLeft
  /// The user or this program stopped the exchange.
  case stopped
  /// No key or advert of this machine could be made.
  case crypto(CryptoError)
}

extension HybridError: CustomStringConvertible {
  /// What happened, then what to do: lower case, no full stop.
  public var description: String {
    switch self {
    case .noLink: "this is not a FIDO:/ link; copy the link from the browser's code"
    case .digits: "the FIDO:/ link is incomplete; scan the code again"
    case .content: "the content of the FIDO:/ link is invalid; scan the code again"
    case .digitalCredential: "the site asks for a digital credential, such as an identity card, and not for a passkey"
    case .channels: "the browser accepts no channel that is supported; use another browser"
    case .onlyBluetooth: "the browser accepts only Bluetooth; give --no-tunnel"
    case .noBluetooth: "the browser does not accept Bluetooth alone; leave out --no-tunnel, or use another browser"
    case .tunnelService(let number): "the browser does not know the tunnel service \(number); choose another one"
    case .noTunnel: "the tunnel service does not answer; check the network, or choose another service"
    case .tunnelAnswer: "the tunnel service does not serve passkeys; choose another service"
    case .noBrowser:
      "no browser connected; the code may have expired: show a new one, keep it open, and check that its computer has "
        + "Bluetooth and is nearby"
    case .handshake: "the program that connected does not show this code; scan the code again"
    case .frame: "a message from the browser cannot be decrypted; scan a new code"
    case .message: "the browser sent a message that is not supported; scan a new code, or use another browser"
    case .noRequest: "the browser connected, but sent no request; scan a new code"
    case .browserLeft: "the browser ended the request; to try again, scan a new code"
    case .stopped: "the request was stopped"
    case .crypto(let error): error.description
    }
  }
}
