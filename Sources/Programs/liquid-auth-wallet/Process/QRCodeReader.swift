import CLinux
import EventLoop
import Glibc
import ProcessIO

/// Reads QR codes in pictures with zbar's program, so that another process parses the picture.
struct QRCodeReader {
  /// The most bytes of text; a QR code has at most 2953.
  private static let maximumSize = 65_536

  /// The exit status according to zbarimg's manual page.
  private enum ExitStatus {
    static let found: Int32 = 0
    static let nothingFound: Int32 = 4
  }

  /// The program's name, looked up in PATH.
  var program = "zbarimg"
  /// The most time for the program.
  var timeout = Duration.seconds(10)

  /// The text of the only QR code in a picture; waits on a thread of its own, until the task is cancelled.
  ///
  /// If none is found, more tries follow: over white and with a white border; and for a code in light modules, over black
  /// and with a black one. A PNG picture, which this program can read itself, is also tried in black and white. Codes are
  /// often drawn in pale colours or inverted, and saved without their background or border.
  func text(in path: String) async throws(WalletFailure) -> String {
    guard access(path, R_OK) == 0 else {
      throw WalletFailure("cannot read \(path): \(SystemNumber())")
    }
    // A path that begins with a hyphen must not be read as an option.
    if let code = try await code(in: path.hasPrefix("/") ? path : "./" + path, input: nil, of: path) { return code }
    for copy in PictureFile.bytes(of: path).map({ Self.copies(of: $0, at: path) }) ?? [] {
      guard let file = PictureFile(copy.bytes()) else { break }
      defer { file.close() }
      if let code = try await code(in: copy.name, input: file.descriptor, of: path) { return code }
    }
    throw WalletFailure("there is no QR code in \(path)")
  }

  /// The copies of a picture for further tries, and their names for ImageMagick.
  ///
  /// Each is made when it is tried: a copy of the largest PNG picture takes 85 MB.
  private static func copies(of bytes: [UInt8], at path: String) -> [(name: String, bytes: () -> [UInt8])] {
    guard let picture = GrayscalePicture(png: bytes) else {
      guard let framed = FramedPicture(of: bytes, at: path) else { return [] }
      // ImageMagick reads a drawing in a file in memory by this name only.
      return ["white", "black"].map { colour in (name: "mvg:-", bytes: { framed.drawing(over: colour) }) }
    }
    let copies: [() -> GrayscalePicture] = [
      { picture.bordered }, { picture.bordered.thresholded }, { picture.inverted.bordered },
    ]
    return copies.map { copy in (name: "pgm:fd:0", bytes: { copy().pgm }) }
  }

  /// The text that zbarimg finds in a picture; `nil` if there is none.
  ///
  /// - Parameters:
  ///   - picture: its path; or a name by which ImageMagick reads `input`.
  ///   - path: the name for error messages.
  private func code(
    in picture: String, input: Int32?, of path: String
  ) async throws(WalletFailure) -> String? {
    let decoder = try PictureDecoder(
      [program, "--quiet", "--nodbus", "--raw", "-Sdisable", "-Sqrcode.enable", "-Stest-inverted", picture],
      input: input)
    let result = await decoder.result(maximumSize: Self.maximumSize, timeout: timeout)
    switch result.end {
    case .tooLong: throw Self.moreThanOne(path)
    case .tooLate: throw WalletFailure("zbarimg took too long with \(path)")
    case .cancelled: throw WalletFailure("ended by a signal", code: .interrupted)
    case .status(ExitStatus.nothingFound): return nil
    case .status(ExitStatus.found): break
    case .status: throw WalletFailure("zbarimg cannot read \(path): is it a picture?")
    }
    let codes = result.text.split(separator: "\n")
    guard codes.count < 2 else { throw Self.moreThanOne(path) }
    return codes.first.map(String.init)
  }

  private static func moreThanOne(_ path: String) -> WalletFailure {
    WalletFailure("there is more than one QR code in \(path); crop the picture to one of them, and try again")
  }
}

/// A picture's bytes, in a file.
private struct PictureFile {
  /// The most bytes of a file that are read.
  private static let maximumSize = 1 << 26

  let descriptor: Int32

  /// Makes an unnamed file in memory with these bytes; `nil` if the system has no room for it.
  init?(_ bytes: [UInt8]) {
    descriptor = clinux_memory_file()
    guard descriptor >= 0 else { return nil }
    guard Descriptor.write(bytes, to: descriptor), lseek(descriptor, 0, SEEK_SET) == 0 else {
      close()
      return nil
    }
  }

  func close() { Glibc.close(descriptor) }

  /// The content of a regular file; `nil` for other files, and if it is too large or unreadable.
  static func bytes(of path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { Glibc.close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= maximumSize else {
      return nil
    }
    let bytes = Descriptor.read(descriptor, atMost: Int(status.st_size))
    return bytes?.count == Int(status.st_size) ? bytes : nil
  }
}

/// A running zbarimg: the process and its output, with a way to cancel it.
private struct PictureDecoder: Sendable {
  /// How the process ended.
  enum End: Equatable {
    /// By itself; its exit status, or -1 after a signal.
    case status(Int32)
    /// Killed: it wrote too much, took too long, or was cancelled.
    case tooLong, tooLate, cancelled
  }

  private let process: pid_t
  private let output: Int32
  private let cancellation = Cancellation()

  /// Starts the process; without `input`, its standard input is empty.
  init(_ arguments: [String], input: Int32?) throws(WalletFailure) {
    // Discards its messages about unreadable pictures.
    let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nothing) }
    do throws(SystemNumber) {
      guard cancellation.descriptor >= 0, nothing >= 0 else { throw SystemNumber() }
      let ends = try Descriptor.pipe()
      defer { close(ends.write) }
      output = ends.read
      do throws(SystemNumber) {
        process = try Child.start(arguments, input: input ?? nothing, output: ends.write, errorOutput: nothing)
      } catch {
        close(ends.read)
        throw error
      }
    } catch {
      throw Self.failure(error)
    }
  }

  /// Reads all output and waits for the process; nothing is left afterwards.
  func result(maximumSize: Int, timeout: Duration) async -> (text: String, end: End) {
    let deadline = ContinuousClock.now + timeout
    return await withTaskCancellationHandler {
      await OwnThread.run { read(maximumSize, until: deadline) }
    } onCancel: {
      cancellation.cancel()
    }
  }

  private func read(_ maximumSize: Int, until deadline: ContinuousClock.Instant) -> (String, End) {
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      switch cancellation.wait(for: output, POLLIN, until: deadline) {
      case .ready: break
      case .cancelled: return ("", kill(for: .cancelled))
      case .timedOut: return ("", kill(for: .tooLate))
      }
      let count = Glibc.read(output, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      text += buffer.prefix(count)
      if text.count > maximumSize { return ("", kill(for: .tooLong)) }
    }
    return (String(decoding: text, as: UTF8.self), .status(exitStatus()))
  }

  private func kill(for end: End) -> End {
    Glibc.kill(process, SIGKILL)
    _ = exitStatus()
    return end
  }

  /// Closes the pipe first: a process that still writes would never end.
  private func exitStatus() -> Int32 {
    close(output)
    let status = Child.reap(process)
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : -1
  }

  private static func failure(_ error: SystemNumber) -> WalletFailure {
    guard error.number == ENOENT else { return WalletFailure("cannot run zbarimg: \(error)") }
    return WalletFailure("zbarimg is not installed; install zbar-tools, or give the link itself")
  }
}
