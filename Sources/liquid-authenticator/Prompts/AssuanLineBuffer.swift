/// Cuts what is read from a pipe into Assuan lines, in memory of the caller's: a passphrase stays where it was read.
struct AssuanLineBuffer {
  private let memory: UnsafeMutableRawBufferPointer
  private var lineStart = 0
  private var end = 0

  /// - Parameter memory: at least `AssuanLine.limit` bytes, outliving the buffer.
  init(memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  /// Where the next bytes are to be read to; never empty after `nextLine` has returned `nil`.
  var free: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[end...]) }

  /// Bytes that are no whole line yet.
  var isEmpty: Bool { lineStart == end }

  /// Takes note that so many bytes were read to `free`.
  mutating func received(_ count: Int) { end += count }

  /// The next whole line without its line end, valid until the next call; `nil` when more has to be read first.
  mutating func nextLine() throws(AssuanLine.Fault) -> UnsafeRawBufferPointer? {
    if let length = memory[lineStart..<end].firstIndex(of: UInt8(ascii: "\n")).map({ $0 - lineStart }) {
      let line = UnsafeRawBufferPointer(rebasing: memory[lineStart..<lineStart + length])
      lineStart += length + 1
      return line
    }
    // The rest moves to the beginning, and what it leaves behind is wiped: it may be a part of a passphrase.
    let rest = end - lineStart
    guard rest < AssuanLine.limit else { throw .tooLong }
    let whole = UnsafeMutableRawBufferPointer(rebasing: memory[..<end])
    whole.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[lineStart..<end]))
    UnsafeMutableRawBufferPointer(rebasing: memory[rest..<end]).initializeMemory(as: UInt8.self, repeating: 0)
    (lineStart, end) = (0, rest)
    return nil
  }
}
