/// Where a request comes from, and on which life of the device.
///
/// State that one request leaves for the next belongs to its context: another client, or the same one after a replug,
/// does not find it.
public struct RequestContext: Hashable, Sendable {
  /// Tells clients apart: a CTAPHID channel, or a connection of the control door.
  ///
  /// The caller numbers them.
  public let channel: UInt64
  /// When the device was created, on the clock that the authenticator was given.
  ///
  /// A new device is a power cycle (CTAP §6.6): volatile state is gone, and the time for a reset starts again.
  public let poweredUpAt: Duration

  /// Names a client and a life of the device.
  public init(channel: UInt64, poweredUpAt: Duration) {
    self.channel = channel
    self.poweredUpAt = poweredUpAt
  }
}
