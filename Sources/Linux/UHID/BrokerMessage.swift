import Glibc

/// A packet between `liquid-auth-broker` and its client, on a SOCK_SEQPACKET socket.
///
/// The broker's first packet is `ready` or `refused`. After `ready`, both sides send reports of 64 bytes, and the broker
/// also sends `closed`. The broker ends the connection after any other packet of a client.
package enum BrokerMessage: Equatable, Sendable {
  /// The path of the socket.
  package static let path = "/run/liquid-auth/broker"
  /// Whether the broker is installed: its socket exists.
  package static var isInstalled: Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
  }

  /// The largest packet of the broker, in bytes.
  package static let maximumSize = 512

  /// The device exists: one byte, 01.
  case ready
  /// There is no device: 00, then the reason in UTF-8.
  case refused(String)
  /// The last client has closed the node: one byte, 02.
  case closed

  /// The bytes of the packet; a long reason is cut.
  package var bytes: [UInt8] {
    switch self {
    case .ready: [1]
    case .refused(let reason): [0] + reason.utf8.prefix(Self.maximumSize - 1)
    case .closed: [2]
    }
  }

  /// Reads a packet; `nil` if it is none of the three.
  package init?(_ bytes: some Collection<UInt8>) {
    switch (bytes.first, bytes.count) {
    case (1, 1): self = .ready
    case (2, 1): self = .closed
    case (0, 1...Self.maximumSize): self = .refused(String(decoding: bytes.dropFirst(), as: UTF8.self))
    default: return nil
    }
  }
}
