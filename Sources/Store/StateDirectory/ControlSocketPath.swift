import Glibc

extension StateDirectory {
  /// The path where the authenticator of a state directory listens without `--control`.
  ///
  /// `$XDG_RUNTIME_DIR/liquid-auth/control.sock`; with `--state-dir`, or without a runtime directory, `control.sock` in
  /// the state directory, so that two authenticators do not collide.
  ///
  /// - Parameters:
  ///   - stateDirectory: the value of `--state-dir`.
  ///   - environment: looks up a variable; a relative `XDG_RUNTIME_DIR` counts as unset, as its standard requires.
  public static func controlSocketPath(
    stateDirectory: String?, environment: (String) -> String?
  ) throws(StateDirectoryError) -> String {
    if let stateDirectory { return stateDirectory + "/control.sock" }
    if let runtime = environment("XDG_RUNTIME_DIR"), runtime.utf8.first == UInt8(ascii: "/") {
      return runtime + "/liquid-auth/control.sock"
    }
    return try defaultPath(environment: environment) + "/control.sock"
  }
}

/// The address of a Unix socket in the file system.
public struct SocketAddress: Sendable {
  /// The longest path, bytes: unix(7); the last byte stays 0.
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

  /// Calls bind(2); returns `false` and sets `errno` on failure.
  public func bind(_ descriptor: Int32) -> Bool { call { Glibc.bind(descriptor, $0, $1) == 0 } }

  /// Calls connect(2); returns `false` and sets `errno` on failure.
  public func connect(_ descriptor: Int32) -> Bool { call { Glibc.connect(descriptor, $0, $1) == 0 } }

  private func call(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
    withUnsafePointer(to: address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
