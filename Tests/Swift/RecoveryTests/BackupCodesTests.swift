import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// RFC 9285.
@Suite struct Base45Tests {
  /// The examples of RFC 9285 §4.3 and §4.4, and the limits of a group.
  @Test(arguments: [
    ("", ""), ("4142", "BB8"), ("48656c6c6f2121", "%69 VD92EX0"), ("626173652d3435", "UJCLQE7W581"),
    ("6965746621", "QED8WEX0"), ("00", "00"), ("ff", "U5"), ("0000", "000"), ("ffff", "FGW"), ("0000ff", "000U5"),
  ])
  func `bytes are encoded and decoded`(_ hex: String, _ text: String) throws {
    let bytes = try #require(Hex(hex)).bytes
    #expect(Base45.encode(bytes) == text)
    #expect(Base45.decode(Array(text.utf8)) == bytes)
  }

  /// GGW is 65,536, and V5 is 256: RFC 9285 §6.
  @Test(arguments: [
    "B", "BB8B", "GGW", ":::", "V5", "::", "bb8", "BB\n", "BB8\n", "BB=", "B_8", "BBé", "\u{0}00", "BB8V5",
  ])
  func `any other text is refused`(_ text: String) {
    #expect(Base45.decode(Array(text.utf8)) == nil)
  }
}

/// The codes of a page: Recovery §9.
@Suite struct BackupCodesTests {
  private static func file(_ count: Int, first: UInt8 = 0) -> [UInt8] {
    [first] + (1..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  }

  /// The words with which codes are refused.
  private func refusal(_ texts: [String]) -> String? {
    #expect(throws: RecoveryError.self) { try BackupCodes.file(from: texts) }?.description
  }

  /// The digest is that of sha256sum, the part an example of RFC 9285.
  @Test func `codes have the contract's text`() throws {
    #expect(try BackupCodes.texts(of: Array("Hello!!".utf8)) == ["LIQUID1/BBC7F4C8/1/1/%69 VD92EX0"])
  }

  // Holds: PAPER-1
  @Test(
    arguments: [
      (1, [1]), (950, [950]), (951, [475, 476]), (1900, [950, 950]), (1901, [633, 634, 634]),
      (5699, [949, 950, 950, 950, 950, 950]),
      (5700, [950, 950, 950, 950, 950, 950]),
    ] as [(Int, [Int])])
  func `a file comes back from its codes in any order, with some of them twice`(size: Int, parts: [Int]) throws {
    let file = Self.file(size)
    let texts = try BackupCodes.texts(of: file)
    #expect(
      texts.map { Base45.decode(Array($0.utf8.dropFirst(21)))?.count } == parts.map(Optional.some))
    #expect(texts.allSatisfy { $0.utf8.count <= 1446 })
    #expect(try BackupCodes.file(from: texts) == file)
    #expect(try BackupCodes.file(from: texts.reversed() + texts) == file)
    #expect(try BackupCodes.file(from: ["https://example.com/", ""] + texts.reversed() + ["LIQUIDATION/1"]) == file)
  }

  @Test func `a file without bytes, or with too many, has no codes`() throws {
    #expect(throws: RecoveryError.malformed("")) { try BackupCodes.texts(of: []) }
    let error = #expect(throws: RecoveryError.self) { try BackupCodes.texts(of: Self.file(5701)) }
    #expect(error?.kind == .full)
    #expect(error?.description == "a page can hold a backup of at most 5700 bytes")
  }

  // Holds: PAPER-1
  @Test(arguments: [
    ([3], "code 3 of 6 was not found"), ([1, 6], "codes 1 and 6 of 6 were not found"),
    ([2, 4, 5], "codes 2, 4 and 5 of 6 were not found"),
  ])
  func `a missing code is named by its number`(missing: [Int], words: String) throws {
    let texts = try BackupCodes.texts(of: Self.file(5000))
    let found = texts.enumerated().filter { !missing.contains($0.offset + 1) }.map(\.element)
    #expect(
      refusal(found)
        == words + "; take a sharper picture, and also give that one; each picture can show a part of the page")
  }

  // Holds: PAPER-1
  @Test func `codes of two pages are not mixed`() throws {
    let first = try BackupCodes.texts(of: Self.file(2000))
    let second = try BackupCodes.texts(of: Self.file(2000, first: 1))
    let words = "the codes are from two pages; restore one page at a time"
    #expect(refusal([first[0], second[1], first[2]]) == words)
    #expect(refusal(first + second) == words)
    #expect(refusal([first[0], first[1].replacing("/2/3/", with: "/2/4/")]) == words)
  }

  // Holds: PAPER-1
  @Test func `codes that were made by hand do not give another file`() throws {
    let texts = try BackupCodes.texts(of: Self.file(1500))
    let swapped = [
      texts[0].replacing("/1/2/", with: "/2/2/"), texts[1].replacing("/2/2/", with: "/1/2/"),
    ]
    #expect(refusal(swapped) == "the codes do not belong together; take new pictures")
    #expect(
      refusal([texts[0].replacing("LIQUID1/", with: "LIQUID1/0").replacing("/1/2/", with: "/1/2/")])
        == "a code of the backup is damaged; take new pictures")
    var other = texts[1]
    other.replaceSubrange(other.index(other.startIndex, offsetBy: 21)..., with: "000")
    #expect(refusal([texts[1], texts[0], other]) == "code 2 was read in two ways; take new pictures")
    #expect(refusal([texts[0], other]) == "the codes do not belong together; take new pictures")
  }

  // Holds: PAPER-1
  @Test(arguments: [
    "LIQUID1/", "LIQUID1/BBC7F4C8", "LIQUID1/BBC7F4C8/1/1", "LIQUID1/BBC7F4C8/1/1/", "LIQUID1/BBC7F4C/1/1/BB8",
    "LIQUID1/BBC7F4C82/1/1/BB8", "LIQUID1/BBC7F4C8/0/1/BB8", "LIQUID1/BBC7F4C8/2/1/BB8", "LIQUID1/BBC7F4C8/1/0/BB8",
    "LIQUID1/BBC7F4C8/1/7/BB8", "LIQUID1/BBC7F4C8/01/1/BB8", "LIQUID1/BBC7F4C8/+1/1/BB8", "LIQUID1/BBC7F4C8/1/1/BB8\n",
    "LIQUID1/BBC7F4C8/1/1/B", "LIQUID1/BBC7F4C8/1/1/GGW", "LIQUID1/BBC7F4C8/1/1/é", "LIQUID1/BBC7F4C8/1//BB8",
    "LIQUID1/BBC7F4C8/1/99999999999999999999/BB8", "LIQUID1/BBC7F4C8/1/1/" + String(repeating: "000", count: 476),
  ])
  func `a damaged code is refused`(_ text: String) {
    #expect(refusal([text]) == "a code of the backup is damaged; take new pictures")
  }

  // Holds: PAPER-1
  @Test(arguments: [
    [], [""], ["/"], ["LIQUID"], ["LIQUID1"], ["LIQUID/BBC7F4C8/1/1/BB8"], ["liquid1/BBC7F4C8/1/1/BB8"],
    [" LIQUID1/BBC7F4C8/1/1/BB8"], ["LIQUID00001/BBC7F4C8/1/1/BB8"], ["LIQUID-1/BBC7F4C8/1/1/BB8"],
    ["liquid://example.com/?requestId=1", "https://example.com/LIQUID1/"],
  ])
  func `texts of other codes are ignored`(_ texts: [String]) {
    #expect(refusal(texts) == "no code of a backup was found; take a sharper picture of the codes")
  }

  // Holds: PAPER-1
  @Test(arguments: ["LIQUID2/anything", "LIQUID0/", "LIQUID01/BBC7F4C8/1/1/BB8", "LIQUID9999/BBC7F4C8/1/1/BB8"])
  func `a page of another version is recognized`(_ text: String) throws {
    let error = #expect(throws: RecoveryError.self) { try BackupCodes.file(from: [text]) }
    #expect(error?.kind == .newerVersion)
    #expect(error?.description == "the page was made by a newer version; use a newer liquid-auth")
  }
}
