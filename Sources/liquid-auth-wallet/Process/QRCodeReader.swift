import CLinux
import Glibc

/// QR codes in pictures, by zbar's program: a picture is read by another process than this one.
struct QRCodeReader {
  /// The longest text that is read, bytes: a QR code has at most 2953.
  private static let maximumSize = 65_536

  /// The text of the one QR code in a picture.
  func text(in path: String) throws(WalletFailure) -> String {
    guard access(path, R_OK) == 0 else {
      throw WalletFailure("cannot read \(path): \(String(cString: strerror(errno)))")
    }
    // A path that begins with a hyphen is no option.
    let picture = path.hasPrefix("/") ? path : "./" + path
    let output = try Self.output(of: [
      "zbarimg", "--quiet", "--nodbus", "--raw", "-Sdisable", "-Sqrcode.enable", picture,
    ])
    let codes = output.split(separator: "\n")
    guard let code = codes.first else { throw WalletFailure("there is no QR code in \(path)") }
    guard codes.count == 1 else {
      throw WalletFailure("there is more than one QR code in \(path); cut out the dApp's, and try again")
    }
    return String(code)
  }

  private static func output(of arguments: [String]) throws(WalletFailure) -> String {
    var ends: [Int32] = [-1, -1]
    let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
    guard input >= 0, clinux_pipe(&ends) == 0 else { throw failure(errno) }
    defer { close(ends[0]) }
    var process = pid_t()
    let words = arguments.map { strdup($0) }
    defer { words.forEach { free($0) } }
    let number = clinux_spawn_session(&process, arguments[0], words + [nil], input, ends[1])
    close(input)
    close(ends[1])
    guard number == 0 else { throw failure(number) }
    let text = read(ends[0])
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return text
  }

  private static func read(_ descriptor: Int32) -> String {
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while text.count < maximumSize {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      text += buffer.prefix(count)
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func failure(_ number: Int32) -> WalletFailure {
    guard number == ENOENT else {
      return WalletFailure("cannot run zbarimg: \(String(cString: strerror(number)))")
    }
    return WalletFailure("zbarimg is not installed; install zbar-tools, or give the link itself")
  }
}
