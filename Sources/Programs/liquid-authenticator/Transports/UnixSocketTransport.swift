import EventLoop

/// A socket in place of the device, for machines without `/dev/uhid`: SOCK_SEQPACKET, one report for each packet.
///
/// The device is attached while the socket's file exists.
struct UnixSocketTransport: ReportTransport {
  let path: String
  let loop: EventLoop
  var name: String { "unix:" + path }

  func attach() throws(TransportError) -> any DeviceLink {
    UnixSocketDevice(try ListeningSocket(at: path, elsewhere: Self.elsewhere), on: loop)
  }

  private static let elsewhere = "name another path"

  /// Removes the socket that a crash left.
  static func removeStale(at path: String) throws(TransportError) {
    try ListeningSocket.removeStale(at: path, elsewhere: elsewhere)
  }
}
