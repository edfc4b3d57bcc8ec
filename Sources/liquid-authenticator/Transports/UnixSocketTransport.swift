/// A socket in place of the device, for machines without `/dev/uhid`: SOCK_SEQPACKET, one report for each packet.
///
/// The device is attached while the socket's file exists.
struct UnixSocketTransport: ReportTransport {
  let path: String
  let loop: EventLoop
  var name: String { "unix:" + path }

  func attach() throws(TransportError) -> any DeviceLink {
    UnixSocketDevice(try ListeningSocket(at: path, elsewhere: "name another path"), on: loop)
  }
}
