import CSystemd
import Glibc

/// The socket that systemd passes to a service: sd_listen_fds(3).
package enum PassedSocket {
  /// Why there is no socket.
  package enum Failure: Error {
    /// systemd did not start this process, or passed more or fewer sockets than one.
    case notOne
    /// It does not listen, or is not of type SOCK_SEQPACKET.
    case otherType
  }

  /// Takes the one listening SOCK_SEQPACKET socket, and makes it non-blocking.
  package static func take() throws(Failure) -> Int32 {
    guard sd_listen_fds(1) == 1 else { throw .notOne }
    let listener = SD_LISTEN_FDS_START
    guard sd_is_socket_unix(listener, Int32(SOCK_SEQPACKET.rawValue), 1, nil, 0) > 0,
      fcntl(listener, F_SETFL, O_NONBLOCK) == 0
    else { throw .otherType }
    return listener
  }
}
