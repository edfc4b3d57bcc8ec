import ProcessIO

/// The place options of a program: where the authenticator works, and what is added to the commands in messages.
public struct CommandPlace: Sendable, Equatable {
  private let stateDirectory: String?
  private let control: String?

  /// - Parameters:
  ///   - stateDirectory: the value of `--state-dir`.
  ///   - control: the value of `--control`.
  public init(stateDirectory: String?, control: String?) {
    (self.stateDirectory, self.control) = (stateDirectory, control)
  }

  /// The words of the options; empty without any.
  public var options: [String] {
    [("--state-dir", stateDirectory), ("--control", control)].flatMap { name, path in path.map { [name, $0] } ?? [] }
  }

  /// The options for a shell, each after a space.
  public var arguments: String { options.map { " " + Self.quoted($0) }.joined() }

  /// Quotes a path so that a shell reads it as one word.
  public static func quoted(_ path: String) -> String {
    let isPlain = path.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "-")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    if isPlain, !path.isEmpty { return path }
    return "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}

// MARK: - The authenticator of the place

extension CommandPlace {
  /// The state directory's path; `nil` if only a socket was named, or the default directory is not known.
  public func statePath(environment: (String) -> String?) -> String? {
    guard control == nil || stateDirectory != nil else { return nil }
    return stateDirectory ?? (try? StateDirectory.defaultPath(environment: environment))
  }

  /// The process of the authenticator that works on the state directory, wherever it listens; `nil` if there is none, or
  /// if only a socket was named.
  public func authenticator(environment: (String) -> String?) -> Int32? {
    guard let state = statePath(environment: environment),
      let process = (try? StateDirectory(opening: state))?.lockHolder,
      // The kernel keeps 15 bytes of the name.
      let name = Descriptor.contents(of: "/proc/\(process)/comm"), name.starts(with: "liquid-authenti".utf8)
    else { return nil }
    return process
  }

  /// The message about an authenticator that does not listen at our path: what happened, then what to do.
  ///
  /// It may listen at another path, hang, or be about to end, or the file of its socket may have been deleted.
  public func unreachable(_ process: Int32, at path: String) -> String {
    let remedy =
      stateDirectory == nil && control == nil
      ? "set XDG_RUNTIME_DIR to the value that it has for the authenticator, or give --control PATH"
      : "give its path with --control PATH"
    return "the authenticator runs as process \(process), but does not listen at \(path); if it listens elsewhere, "
      + "\(remedy); otherwise restart it"
  }
}
