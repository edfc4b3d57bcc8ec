import Glibc
import ProcessIO

/// Reads QR codes in pictures with zbarimg, so that another process parses the pictures.
struct PictureCodes {
  /// The exit status, as in zbarimg(1).
  private enum ExitStatus {
    static let found: Int32 = 0
    static let nothingFound: Int32 = 4
  }

  /// The name of the program, which is looked up in PATH.
  var program = "zbarimg"
  /// The most time for one picture.
  ///
  /// A photo takes a few seconds.
  var timeout = Duration.seconds(120)

  /// Reads the texts of all QR codes in a picture.
  ///
  /// They are not trusted: anyone can have made the picture.
  func texts(in path: String) throws(CommandFailure) -> [String] {
    guard access(path, R_OK) == 0 else { throw CommandFailure("cannot read \(path): \(SystemNumber())") }
    let words = [
      // A path that begins with a hyphen must not be read as an option.
      program, "--quiet", "--nodbus", "--raw", "-Sdisable", "-Sqrcode.enable", path.hasPrefix("/") ? path : "./" + path,
    ]
    switch Tool.run(words, within: timeout, withErrors: false) {
    case .ended(ExitStatus.found, let output): return output.split(separator: "\n").map(String.init)
    case .ended(let status, _):
      if let reason = PaperBackup.advice(onPDF: Self.beginning(of: path), path) {
        throw CommandFailure("cannot read \(path): \(reason)")
      }
      guard status == ExitStatus.nothingFound else {
        throw CommandFailure("zbarimg cannot read \(path): is it a picture?")
      }
      return []
    case .missing:
      throw CommandFailure(
        "zbarimg, which reads the codes, is not installed; install zbar-tools, and run the command again")
    case .tooSlow: throw CommandFailure("zbarimg took too long with \(path); name a smaller picture")
    case .failed(let reason): throw CommandFailure("cannot run zbarimg: \(reason)")
    }
  }

  /// The first 5 bytes of a file; fewer, or none, if it cannot be read.
  private static func beginning(of path: String) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    return Descriptor.read(descriptor, atMost: 4) ?? []
  }
}
