import Glibc
import NIOPosix
import ProcessIO

/// QR codes in pictures, by zbar's program: a picture is read by another process than this one.
struct QRCodeReader {
  /// The longest text that is read, bytes: a QR code has at most 2953.
  private static let maximumSize = 65_536

  /// What zbarimg's manual page says of its exit status.
  private enum ExitStatus {
    static let found: Int32 = 0
    static let nothingFound: Int32 = 4
  }

  /// The program, looked up in PATH.
  var program = "zbarimg"
  /// How long it may take.
  var timeout = Duration.seconds(10)

  /// The text of the one QR code in a picture; it is waited for on a thread that may wait, until the task is cancelled.
  ///
  /// A PNG picture in which none is found is tried twice more: with white behind and around it, and then in black and
  /// white as well. Codes are drawn in pale colours, and saved without their background.
  func text(in path: String) async throws(WalletFailure) -> String {
    guard access(path, R_OK) == 0 else {
      throw WalletFailure("cannot read \(path): \(SystemNumber())")
    }
    // A path that begins with a hyphen is no option.
    if let code = try await code(in: path.hasPrefix("/") ? path : "./" + path, input: nil, of: path) { return code }
    if let picture = PictureFile.bytes(of: path).flatMap(GrayscalePicture.init(png:))?.bordered {
      for copy in [picture, picture.thresholded] {
        guard let file = PictureFile(copy.pgm) else { break }
        defer { file.close() }
        if let code = try await code(in: "-", input: file.descriptor, of: path) { return code }
      }
    }
    throw WalletFailure("there is no QR code in \(path)")
  }

  /// What zbarimg finds in a picture; `nil` if nothing.
  ///
  /// - Parameters:
  ///   - picture: its path, or `-` for `input`.
  ///   - path: the person's name for it.
  private func code(
    in picture: String, input: Int32?, of path: String
  ) async throws(WalletFailure) -> String? {
    let decoder = try PictureDecoder(
      [program, "--quiet", "--nodbus", "--raw", "-Sdisable", "-Sqrcode.enable", picture], input: input)
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
    WalletFailure("there is more than one QR code in \(path); cut out the dApp's, and try again")
  }
}

/// A picture's bytes, in a file.
private struct PictureFile {
  /// Bytes of a file that are read at most.
  private static let maximumSize = 1 << 26

  private let file: UnsafeMutablePointer<FILE>

  /// A file without a name that has these bytes; `nil` where the system has no room for it.
  init?(_ bytes: [UInt8]) {
    guard let file = tmpfile() else { return nil }
    self.file = file
    guard fwrite(bytes, 1, bytes.count, file) == bytes.count, fflush(file) == 0, lseek(descriptor, 0, SEEK_SET) == 0
    else {
      close()
      return nil
    }
  }

  var descriptor: Int32 { fileno(file) }

  func close() { fclose(file) }

  /// The content of an ordinary file; `nil` for others, and for one that is too large or cannot be read.
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

/// zbarimg at work: a process, what it writes, and a way to give it up.
private struct PictureDecoder: Sendable {
  /// How it ended.
  enum End: Equatable {
    /// By itself; its exit status, or -1 where a signal ended it.
    case status(Int32)
    /// It was killed: it wrote too much, took too long, or was not wanted any more.
    case tooLong, tooLate, cancelled
  }

  private let process: pid_t
  private let output: Int32
  private let cancellation = Cancellation()

  /// Starts it; `nil` as input gives it nothing to read.
  init(_ arguments: [String], input: Int32?) throws(WalletFailure) {
    // What it says of a picture that it cannot read is no sentence of ours.
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

  /// Reads all that it writes, and waits for its end, after which nothing is left of it.
  func result(maximumSize: Int, timeout: Duration) async -> (text: String, end: End) {
    let deadline = ContinuousClock.now + timeout
    return await withTaskCancellationHandler {
      let result = try? await NIOThreadPool.singleton.runIfActive { read(maximumSize, until: deadline) }
      // One that was cancelled before a thread took it up is not read.
      return result ?? ("", kill(for: .cancelled))
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

  /// The end of the pipe first: who still writes into it would be waited for without end.
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
