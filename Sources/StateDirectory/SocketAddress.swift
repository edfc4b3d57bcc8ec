import Glibc

/// The address of a Unix socket in the file system.
public struct SocketAddress: Sendable {
  /// The longest path, bytes: unix(7), whose last byte stays 0.
  public static let maximumPathSize = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  private let address: sockaddr_un

  /// `nil` for a path that is empty or too long.
  public init?(_ path: String) {
    let bytes = Array(path.utf8)
    guard 1...Self.maximumPathSize ~= bytes.count else { return nil }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    self.address = address
  }

  /// bind(2); whether it was done, `errno` says why not.
  public func bind(_ descriptor: Int32) -> Bool { call { Glibc.bind(descriptor, $0, $1) == 0 } }

  /// connect(2); whether it was done, `errno` says why not.
  public func connect(_ descriptor: Int32) -> Bool { call { Glibc.connect(descriptor, $0, $1) == 0 } }

  private func call(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
    withUnsafePointer(to: address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
