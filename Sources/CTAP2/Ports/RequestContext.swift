/// Where a request comes from, and on which life of the device.
///
/// State that one request leaves for the next belongs to its context: another client, or the same one after a replug,
/// does not find it.
public struct RequestContext: Hashable, Sendable {
  /// Tells clients apart: a CTAPHID channel, or a connection of the control socket.
  ///
  /// The caller numbers them.
  public let channel: UInt64
  /// When the device was plugged in last, on the clock that the authenticator was given.
  ///
  /// Tokens, key agreement and all that one request leaves for the next do not outlive that.
  public let pluggedInAt: Duration
  /// When the device was powered up, on the same clock (CTAP §6.6): at the authenticator's start, or when the owner
  /// requested it with the vault's passphrase.
  ///
  /// Only then there is time for a reset, and only then wrong PINs in a row are forgotten: any program of the user's
  /// can have the device plugged in anew.
  public let poweredUpAt: Duration

  /// Names a client and a life of the device.
  ///
  /// - Parameter pluggedInAt: `nil` if the device was not plugged in anew since it was powered up.
  public init(channel: UInt64, poweredUpAt: Duration, pluggedInAt: Duration? = nil) {
    self.channel = channel
    self.poweredUpAt = poweredUpAt
    self.pluggedInAt = pluggedInAt ?? poweredUpAt
  }
}
