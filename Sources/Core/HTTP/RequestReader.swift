/// Reads one HTTP/1.1 request from bytes that come in pieces (RFC 9112), with limits.
package struct RequestReader: Sendable {
  /// One request.
  package struct Request: Sendable {
    /// The method, such as `GET`.
    package let method: String
    /// The target as sent.
    package let target: String
    /// Start line and fields.
    package let head: MessageHead
    /// The body, after transfer coding.
    package fileprivate(set) var body: [UInt8] = []
  }

  /// Why a request is not read.
  package enum Refusal: Equatable, Sendable {
    /// It is not a request of HTTP/1.1, or its length is not clear.
    case malformed
    /// The body is longer than the limit.
    case bodyTooLong
    /// The request as sent is longer than the limit.
    case tooLong
  }

  /// The result of a read.
  package enum Outcome: Sendable {
    case incomplete
    case request(Request)
    /// What follows cannot be read.
    case refused(Refusal)
  }

  private enum Part {
    case head
    /// This many bytes of the body are missing.
    case body(Int)
    case chunkSize
    case chunk(Int)
    /// The line end after a chunk.
    case chunkEnd
    case trailers
  }

  private let maximumSize: Int
  private let maximumFields: Int
  private let maximumBodySize: Int
  private var part = Part.head
  private var reader = HeadReader()
  private var request: Request?
  /// A line of the chunked coding, so far.
  private var line: [UInt8] = []
  private var count = 0

  /// - Parameters:
  ///   - maximumSize: the most bytes of the whole request as sent.
  ///   - maximumFields: the most fields of its head.
  ///   - maximumBodySize: the longest body, bytes after transfer coding.
  package init(maximumSize: Int, maximumFields: Int, maximumBodySize: Int) {
    self.maximumSize = maximumSize
    self.maximumFields = maximumFields
    self.maximumBodySize = maximumBodySize
  }

  /// Takes the bytes of the request, and leaves those that follow it.
  ///
  /// Do not call it again after a request or a refusal.
  package mutating func receive(_ bytes: inout ArraySlice<UInt8>) -> Outcome {
    var left = bytes.prefix(maximumSize - count)
    let start = left.startIndex
    defer {
      count += left.startIndex - start
      bytes = bytes[left.startIndex...]
    }
    while true {
      do throws(Refused) {
        if let whole = try next(&left) { return .request(whole) }
      } catch {
        return .refused(error.reason)
      }
      if left.isEmpty { return count + left.startIndex - start < maximumSize ? .incomplete : .refused(.tooLong) }
    }
  }

  private struct Refused: Error {
    let reason: Refusal
  }

  /// Reads as much of one part as there is; returns the request when it is whole.
  private mutating func next(_ bytes: inout ArraySlice<UInt8>) throws(Refused) -> Request? {
    switch part {
    case .head:
      switch reader.read(&bytes) {
      case .incomplete: return nil
      case .malformed: throw Refused(reason: .malformed)
      case .head(let head): return try read(head)
      }
    case .body(let missing):
      let piece = bytes.prefix(missing)
      request?.body += piece
      bytes = bytes.dropFirst(piece.count)
      part = .body(missing - piece.count)
      return missing == piece.count ? request : nil
    case .chunk(let missing):
      let piece = bytes.prefix(missing)
      request?.body += piece
      bytes = bytes.dropFirst(piece.count)
      part = missing == piece.count ? .chunkEnd : .chunk(missing - piece.count)
    case .chunkSize: if let line = try nextLine(&bytes) { part = try chunk(line) }
    case .chunkEnd:
      guard let line = try nextLine(&bytes) else { return nil }
      guard line.isEmpty else { throw Refused(reason: .malformed) }
      part = .chunkSize
    case .trailers: if try nextLine(&bytes)?.isEmpty == true { return request }
    }
    return nil
  }

  private mutating func read(_ head: MessageHead) throws(Refused) -> Request? {
    let words = head.startLine.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, MessageHead.isToken(words[0].utf8), !words[1].isEmpty, words[2] == "HTTP/1.1",
      head.fields.count <= maximumFields
    else { throw Refused(reason: .malformed) }
    let request = Request(method: String(words[0]), target: String(words[1]), head: head)
    let (lengths, codings) = (head.values("Content-Length"), head.values("Transfer-Encoding"))
    switch (lengths.count, codings.count) {
    case (0, 0): return request
    case (1, 0):
      guard !lengths[0].isEmpty, lengths[0].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
      else { throw Refused(reason: .malformed) }
      guard let length = Int(lengths[0]), length <= maximumBodySize else { throw Refused(reason: .bodyTooLong) }
      part = .body(length)
      self.request = request
      return length == 0 ? request : nil
    // With two lengths, or a length and a coding, one request can be hidden in another (RFC 9112 §6.3).
    case (0, 1) where codings[0].lowercased() == "chunked":
      part = .chunkSize
      self.request = request
      return nil
    default: throw Refused(reason: .malformed)
    }
  }

  // MARK: Chunks: RFC 9112 §7.1

  /// The next line without its end; `nil` if it is incomplete.
  private mutating func nextLine(_ bytes: inout ArraySlice<UInt8>) throws(Refused) -> [UInt8]? {
    while let byte = bytes.popFirst() {
      guard byte == MessageHead.lineFeed else {
        line.append(byte)
        continue
      }
      guard line.popLast() == MessageHead.carriageReturn, MessageHead.isText(line) else {
        throw Refused(reason: .malformed)
      }
      defer { line = [] }
      return line
    }
    return nil
  }

  private func chunk(_ line: [UInt8]) throws(Refused) -> Part {
    let digits = MessageHead.trimmed(line.prefix { $0 != UInt8(ascii: ";") })
    let isNumber = !digits.isEmpty && digits.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
    guard isNumber else { throw Refused(reason: .malformed) }
    let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
    guard let size, size <= maximumBodySize - (request?.body.count ?? 0) else { throw Refused(reason: .bodyTooLong) }
    return size == 0 ? .trailers : .chunk(size)
  }
}
