import Glibc
import ProcessIO
import Sandbox

/// The rights that the wallet keeps: it passes untrusted bytes to GStreamer, libnice, GnuTLS and libsoup.
///
/// On a kernel without Landlock or seccomp, the wallet runs with fewer restrictions, because it has no key of the phrase.
enum WalletSandbox {
  /// Restricts the files: to the system's, to the programs in PATH, and to those that the user names.
  ///
  /// GStreamer still has to scan its plug-ins in a separate program, and another program reads QR codes.
  /// The calling thread must be the only one.
  ///
  /// - Parameter paths: the files and directories that the command line and the settings name.
  static func restrictFiles(_ paths: [String]) {
    var files = FileSandbox(startsPrograms: true)
    for path in paths { files.allow(.read, path) }
    for directory in (environmentVariable("PATH") ?? "").split(separator: ":") { files.allow(.run, String(directory)) }
    for program in [OwnProgram.path(of: ""), environmentVariable("GST_PLUGIN_SCANNER")] {
      program.map { files.allow(.run, $0) }
    }
    for path in ["/run/resolvconf", "/run/NetworkManager", "/var/lib/ca-certificates"] { files.allow(.read, path) }
    // For the question about a new host.
    for path in ["/dev/tty", "/dev/pts"] { files.allow(.write, path) }
    if let directory = registryDirectory() {
      files.allow(.write, directory)
      // ImageMagick, which reads pictures for zbarimg, keeps a copy of a drawing there while it reads it.
      setenv("MAGICK_TEMPORARY_PATH", directory, 0)
    }
    try? files.enter()
  }

  /// Forbids new programs and executable memory to all threads; GStreamer must have been loaded.
  static func restrictSystemCalls() {
    try? SystemCallSandbox(families: [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK], connects: true).enter()
  }

  /// The directory of GStreamer's list of plug-ins, and of their caches: not the user's, which other programs use, because
  /// the list lacks plug-ins that cannot start in the sandbox.
  private static func registryDirectory() -> String? {
    if let path = environmentVariable("GST_REGISTRY") {
      return String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
    }
    let caches = environmentVariable("XDG_CACHE_HOME") ?? environmentVariable("HOME").map { $0 + "/.cache" }
    guard let caches, caches.hasPrefix("/") else { return nil }
    let directory = caches + "/liquid-auth"
    mkdir(caches, 0o700)
    mkdir(directory, 0o700)
    setenv("GST_REGISTRY", directory + "/gstreamer-registry.bin", 0)
    // Plug-ins that are scanned load Fontconfig, which complains on standard error if it can keep no cache.
    setenv("XDG_CACHE_HOME", directory, 1)
    return directory
  }
}
