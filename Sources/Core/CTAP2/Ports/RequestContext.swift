/// The client of a request, as the program knows it that serves the request.
///
/// The authenticator does not look at it: it passes it to the ports that the request needs, and into the report.
public protocol RequestClient: Sendable {}

/// The client of a request, and the plug-in and power-up of the device that it belongs to.
///
/// State that one request leaves for the next belongs to its context: another client, or the same one after a replug,
/// cannot use it.
public struct RequestContext: Equatable, Sendable {
  /// Distinguishes clients: a CTAPHID channel, or a connection of the control socket.
  ///
  /// The caller numbers them.
  public let channel: UInt64
  /// When the device was plugged in last, on the authenticator's clock.
  ///
  /// Tokens, key agreement keys and unfinished commands end at the next plug-in.
  public let pluggedInAt: Duration
  /// When the device was powered up, on the same clock (CTAP §6.6): at the authenticator's start, or when the owner
  /// requested it with the vault's passphrase.
  ///
  /// Only a power-up allows a reset and clears the count of wrong PINs in a row, because any program of the user can
  /// replug the device.
  public let poweredUpAt: Duration
  /// The client, for the ports; contexts are compared by ``channel``, not by this.
  public let client: (any RequestClient)?
  /// Whether a browser on another computer sends the request, by hybrid transports (CTAP §11.5).
  ///
  /// Such a request always needs verification by the authenticator itself, and can only register, sign in, and ask what
  /// the authenticator can do.
  public let isHybrid: Bool

  /// Makes the context of a request.
  ///
  /// - Parameters:
  ///   - pluggedInAt: `nil` if the device was not replugged since it was powered up.
  ///   - client: `nil` if the ports need not know it.
  ///   - isHybrid: whether it comes by hybrid transports.
  public init(
    channel: UInt64, poweredUpAt: Duration, pluggedInAt: Duration? = nil, client: (any RequestClient)? = nil,
    isHybrid: Bool = false
  ) {
    self.channel = channel
    self.poweredUpAt = poweredUpAt
    self.pluggedInAt = pluggedInAt ?? poweredUpAt
    self.client = client
    self.isHybrid = isHybrid
  }

  /// Compares the client by its number and its transport, and the times.
  public static func == (a: Self, b: Self) -> Bool {
    a.channel == b.channel && a.isHybrid == b.isHybrid && a.pluggedInAt == b.pluggedInAt
      && a.poweredUpAt == b.poweredUpAt
  }
}
