import CryptoPrimitives
import Glibc
import ProcessIO
import TestVectors
import Testing

@testable import ProtectorProtocol

@Suite struct AccountConversationTests {
  private static let soon = ContinuousClock.now + .patience

  private func message(_ kind: UInt8, _ body: [UInt8]) -> AccountMessage? {
    body.withUnsafeBytes { AccountMessage(kind: kind, body: $0) }
  }

  // Holds: ACCOUNT-8
  @Test(
    arguments: [
      (.accepted, [2, 0, 0, 0]), (.wrong, [2, 0x10, 0, 0]), (.asks("a:"), [2, 0x11, 0, 2, 0x61, 0x3A]),
      (.says(""), [2, 0x12, 0, 0]), (.says("é"), [2, 0x12, 0, 2, 0xC3, 0xA9]),
      (.reports(""), [2, 0x13, 0, 0]), (.reports("é"), [2, 0x13, 0, 2, 0xC3, 0xA9]),
      (.failed(ProtectorFailure(.failed, "no")), [2, 4, 0, 2, 0x6E, 0x6F]),
    ] as [(AccountMessage, [UInt8])])
  func `messages of the account have their exact bytes`(_ known: AccountMessage, _ bytes: [UInt8]) {
    #expect(known.encoded == bytes)
    #expect(message(bytes[1], Array(bytes.dropFirst(4))) == known)
  }

  @Test func `a text that is too long is cut`() {
    let long = AccountMessage.asks(String(repeating: "a", count: 600)).encoded
    #expect(long.count == 4 + 512 && long.prefix(4) == [2, 0x11, 2, 0])
    let error = AccountMessage.reports(String(repeating: "a", count: 600)).encoded
    #expect(error.count == 4 + 512 && error.prefix(4) == [2, 0x13, 2, 0])
  }

  // Holds: ACCOUNT-8
  @Test(
    arguments: [
      (0, [0x61]), (0x10, [0x61]), (0x11, [UInt8](repeating: 0x61, count: 513)),
      (0x12, [UInt8](repeating: 0x61, count: 513)),
      (0x13, [UInt8](repeating: 0x61, count: 513)),
      (7, [0x61]), (0x14, []), (0xFF, []), (4, []), (4, [0x1B]), (3, []),
    ] as [(UInt8, [UInt8])])
  func `malformed messages of the account are refused`(_ kind: UInt8, _ body: [UInt8]) {
    #expect(message(kind, body) == nil)
  }

  /// A connection: the authenticator's end, and the program's.
  private func connection() -> (ours: Int32, theirs: Int32) {
    var ends: [Int32] = [-1, -1]
    socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
    return (ends[0], ends[1])
  }

  private func next(_ bytes: [UInt8]) -> Result<AccountMessage, ProtectorFailure> {
    let (ours, theirs) = connection()
    let conversation = AccountConversation(.verify, over: ours)
    Descriptor.write(bytes, to: theirs)
    close(theirs)
    return Result { () throws(ProtectorFailure) in try conversation.next(until: Self.soon, Cancellation()) }
  }

  @Test func `a request and an answer arrive as they were sent`() throws {
    let (ours, theirs) = connection()
    defer { close(theirs) }
    let conversation = AccountConversation(.check, over: ours)
    #expect(AccountPipe.request(from: theirs, until: Self.soon) == .check)
    AccountPipe.write(.asks("?"), to: theirs)
    #expect(try conversation.next(until: Self.soon, Cancellation()) == .asks("?"))
    conversation.answer(SecretBytes(count: 2) { $0.copyBytes(from: [0x68, 0x69]) })
    let answer = try #require(AccountPipe.answer(from: theirs, until: Self.soon))
    #expect(answer.withUnsafeBytes { Array($0) } == [0x68, 0x69])
    conversation.answer(SecretBytes(count: 0) { _ in })
    #expect(AccountPipe.answer(from: theirs, until: Self.soon)?.count == 0)
  }

  // Holds: ACCOUNT-8
  @Test(arguments: [
    ([], "ended without an answer", "see the system's log"),
    ([2], "ended without an answer", "see the system's log"),
    ([2, 0, 0, 1], "ended without an answer", "see the system's log"),
    ([2, 0x11, 0, 3, 0x61], "ended without an answer", "see the system's log"),
    ([1, 0, 0, 0], "gave no valid answer", "install all programs from the same version"),
    ([2, 0x13, 0, 3, 0x61], "ended without an answer", "see the system's log"),
    ([2, 0x14, 0, 0], "gave no valid answer", "install all programs from the same version"),
    ([2, 0, 8, 1], "gave no valid answer", "install all programs from the same version"),
  ])
  func `a message that is cut off or unknown is a failure, and no verification`(
    _ bytes: [UInt8], _ reason: String, _ hint: String
  ) {
    #expect(next(bytes) == .failure(ProtectorFailure(.failed, "liquid-auth-pam \(reason)", hint: hint)))
  }

  // Holds: ACCOUNT-8
  @Test(arguments: [[], [2, 1], [2, 0, 0, 0], [2, 3, 0, 0], [2, 2, 0, 1, 0x61], [1, 2, 0, 0]] as [[UInt8]])
  func `malformed requests are refused`(_ bytes: [UInt8]) {
    let (ours, theirs) = connection()
    defer { close(theirs) }
    Descriptor.write(bytes, to: ours)
    close(ours)
    #expect(AccountPipe.request(from: theirs, until: Self.soon) == nil)
  }

  // Holds: ACCOUNT-8
  @Test(arguments: [
    [2, 3, 0, 1, 0], [2, 1, 0, 1, 0x61], [2, 3, 0, 2, 0x61], [2, 3, 2, 0] + [UInt8](repeating: 1, count: 512),
  ])
  func `malformed answers are refused`(_ bytes: [UInt8]) {
    let (ours, theirs) = connection()
    defer { close(theirs) }
    Descriptor.write(bytes, to: ours)
    close(ours)
    #expect(AccountPipe.answer(from: theirs, until: Self.soon) == nil)
  }

  @Test func `a wait ends with its cancellation`() {
    let (ours, theirs) = connection()
    defer { close(theirs) }
    let conversation = AccountConversation(.verify, over: ours)
    let cancellation = Cancellation()
    cancellation.cancel()
    #expect(throws: ProtectorFailure(.failed, "it was cancelled")) {
      try conversation.next(until: Self.soon, cancellation)
    }
  }
}
