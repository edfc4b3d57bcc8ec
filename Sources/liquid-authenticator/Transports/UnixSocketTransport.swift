/// A socket that stands for the device, for machines without `/dev/uhid`: SOCK_SEQPACKET, one report a packet.
///
/// Plugged in is: the socket's file is there.
struct UnixSocketTransport: ReportTransport {
  let path: String
  var name: String { "unix:" + path }

  func attach() throws(TransportError) -> any DeviceLink {
    try UnixSocketDevice(ListeningSocket(at: path, elsewhere: "name another path"))
  }
}
