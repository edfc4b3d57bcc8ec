import CryptoPrimitives
import Glibc

/// Searches the readable memory of this process for wiped secrets.
///
/// The scan keeps its patterns and read bytes in a separate mapping, which it skips.
final class MemoryScan {
  private static let chunk = 1 << 20
  private static let maximumPieceSize = 32

  /// The needles one after the other, then a copy of the memory being searched.
  private let own: UnsafeMutableRawBufferPointer
  private var needles: [Range<Int>] = []

  /// The stack of the code under test, kept for the search.
  private let stack: UnsafeMutableRawBufferPointer

  init() throws(SystemError) {
    own = try Self.map(4096 + Self.chunk + Self.maximumPieceSize)
    stack = try Self.map(1 << 20)
  }

  deinit {
    munmap(own.baseAddress, own.count)
    munmap(stack.baseAddress, stack.count)
  }

  private static func map(_ size: Int) throws(SystemError) -> UnsafeMutableRawBufferPointer {
    let address = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let address, address != MAP_FAILED else { throw SystemError(number: errno) }
    return UnsafeMutableRawBufferPointer(start: address, count: size)
  }

  /// Runs `body` to its end on a separate thread, on a stack that nothing else uses.
  func run(_ body: @escaping (MemoryScan) throws -> Void) throws {
    final class Job {
      let body: () throws -> Void
      var error: (any Error)?
      init(_ body: @escaping () throws -> Void) { self.body = body }
    }
    let job = Job { try body(self) }
    let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
    pthread_attr_init(attributes)
    defer {
      pthread_attr_destroy(attributes)
      attributes.deallocate()
    }
    var thread: pthread_t = 0
    if let base = stack.baseAddress { pthread_attr_setstack(attributes, base, stack.count) }
    let result = pthread_create(
      &thread, attributes,
      { context in
        guard let context else { return nil }
        let job = Unmanaged<Job>.fromOpaque(context).takeUnretainedValue()
        do { try job.body() } catch { job.error = error }
        return nil
      }, Unmanaged.passUnretained(job).toOpaque())
    guard result == 0 else { throw SystemError(number: result) }
    pthread_join(thread, nil)
    if let error = job.error { throw error }
  }

  struct SystemError: Error { let number: CInt }

  /// Adds every 16 bytes of the secret to the patterns, and the same in reverse order, as OpenSSL keeps numbers.
  ///
  /// - Parameter pieceSize: at most 32. Two or three words of a list can be in 16 bytes of text, and other tests leave
  ///   texts of the same words in memory.
  func remember(_ secret: SecretBytes, inPiecesOf pieceSize: Int = 16) {
    secret.withUnsafeBytes { bytes in
      for start in stride(from: 0, through: bytes.count - pieceSize, by: pieceSize) {
        let piece = bytes[start..<start + pieceSize]
        append(Array(piece))
        append(piece.reversed())
      }
    }
  }

  private func append(_ bytes: [UInt8]) {
    let start = needles.last?.upperBound ?? 0
    own[start..<start + bytes.count].copyBytes(from: bytes)
    needles.append(start..<start + bytes.count)
    // The array returns to the heap unwiped, so its bytes are overwritten by hand.
    _ = bytes.withUnsafeBytes {
      UnsafeMutableRawBufferPointer(mutating: $0).initializeMemory(as: UInt8.self, repeating: 0)
    }
  }

  /// The number of copies of the patterns in memory.
  func copies() throws -> Int {
    let descriptor = open("/proc/self/mem", O_RDONLY)
    guard descriptor >= 0 else { throw SystemError(number: errno) }
    defer { close(descriptor) }
    let window = UnsafeMutableRawBufferPointer(rebasing: own[4096...])
    var found = 0
    for region in try Self.regions().flatMap(withoutOwn) {
      for start in stride(from: region.lowerBound, to: region.upperBound, by: Self.chunk) {
        let count = pread(descriptor, window.baseAddress, min(window.count, Int(region.upperBound - start)), Int(start))
        guard count > 0 else { break }
        for needle in needles { found += occurrences(of: needle, in: .init(rebasing: window[..<count])) }
      }
    }
    window.initializeMemory(as: UInt8.self, repeating: 0)
    return found
  }

  /// The parts of a region outside of the mapping of the scan, since the kernel joins neighbouring mappings.
  private func withoutOwn(_ region: Range<UInt>) -> [Range<UInt>] {
    let start = UInt(bitPattern: own.baseAddress)
    let before = region.clamped(to: 0..<start)
    let after = region.clamped(to: start + UInt(own.count)..<UInt.max)
    return [before, after].filter { !$0.isEmpty }
  }

  private func occurrences(of needle: Range<Int>, in haystack: UnsafeRawBufferPointer) -> Int {
    let pattern = UnsafeRawBufferPointer(rebasing: own[needle])
    guard let start = haystack.baseAddress, let wanted = pattern.baseAddress else { return 0 }
    // Most of memory is zeros, so search for another byte.
    let anchor = pattern.firstIndex { $0 != 0 } ?? 0
    let end = min(haystack.count - pattern.count + 1, Self.chunk)
    var (found, offset) = (0, 0)
    while offset < end, let hit = memchr(start + offset + anchor, CInt(pattern[anchor]), end - offset) {
      offset = UnsafeRawPointer(hit) - start - anchor
      if memcmp(start + offset, wanted, pattern.count) == 0 { found += 1 }
      offset += 1
    }
    return found
  }

  /// All mappings that the program can have written to: readable and writable, or read-only and anonymous.
  private static func regions() throws -> [Range<UInt>] {
    let descriptor = open("/proc/self/maps", O_RDONLY)
    guard descriptor >= 0 else { throw SystemError(number: errno) }
    defer { close(descriptor) }
    var (text, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { break }
      text += buffer[..<count]
    }
    return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      guard bounds.count == 2, fields[1].hasPrefix("rw") || fields[1].hasPrefix("r-") && fields.count == 5 else {
        return nil
      }
      return bounds[0]..<bounds[1]
    }
  }
}
