/// A socket that stands for the device, for machines without `/dev/uhid`: SOCK_SEQPACKET, one report a packet.
///
/// Plugged in is: the socket's file is there.
struct UnixSocketTransport: ReportTransport {
  let path: String
  let loop: EventLoop
  var name: String { "unix:" + path }

  func attach() throws(TransportError) -> any DeviceLink {
    UnixSocketDevice(try ListeningSocket(at: path, elsewhere: "name another path"), on: loop)
  }
}
