import CBOR
import ControlProtocol
import CryptoPrimitives
import TestVectors
import Testing

@testable import liquid_auth

@Suite struct LargeBlobArrayTests {
  static let key = SecretBytes(count: 32) { $0.copyBytes(from: (0..<32).map { UInt8($0) }) }
  static let other = SecretBytes.random(count: 32)
  static let content = Array("a large blob, a large blob, a large blob".utf8)

  /// The ciphertext of `content` under `key`, computed with Python's zlib and cryptography.
  static func entry() throws -> CBORValue {
    let ciphertext = try #require(Hex("034f162f55a319cb76a896a7083422398bc106cd595e4d95a196538adc2f94f1bc1f2c"))
    return [1: .bytes(ciphertext.bytes), 2: .bytes(Array(100..<112)), 3: 40]
  }

  private static func serialized(_ entries: [CBORValue]) -> [UInt8] {
    let array = CBOREncoder.encode(.array(entries))
    return array + SHA256.hash(array).prefix(16)
  }

  @Test func `an entry of another program opens with its own key only`() throws {
    let array = try LargeBlobArray(serialized: Self.serialized([Self.entry()]))
    #expect(array.content(key: Self.key) == Self.content)
    #expect(array.content(key: Self.other) == nil)
  }

  // Holds: CONTROL-12
  @Test(arguments: [0, 1, 40, 8000]) func `content is stored, and entries of other programs are kept`(_ count: Int)
    throws
  {
    let strange: CBORValue = ["of": "another kind"]
    var array = try LargeBlobArray(serialized: Self.serialized([Self.entry(), strange]))
    let content = [UInt8](repeating: 7, count: count)
    try array.set(content, key: Self.other)
    #expect(array.content(key: Self.other) == content)
    #expect(array.content(key: Self.key) == Self.content)
    try array.set([1], key: Self.other)
    #expect(array.content(key: Self.other) == [1])
    #expect(array.entries.count == 3)
    #expect(try LargeBlobArray(serialized: array.serialized) == array)
    let removals = [array.remove(key: Self.other), array.remove(key: Self.other)]
    #expect(removals == [true, false])
    #expect(array.entries == [try Self.entry(), strange])
  }

  /// An entry sealed as in the standard, whose plaintext is not DEFLATE.
  static func uncompressed() throws -> CBORValue {
    let nonce = [UInt8](repeating: 1, count: 12)
    let size: [UInt8] = [3, 0, 0, 0, 0, 0, 0, 0]
    let sealed = try AESGCM.seal([0xFF, 0xFF, 0xFF], key: key, nonce: nonce, ad: Array("blob".utf8) + size)
    return [1: .bytes(sealed), 2: .bytes(nonce), 3: 3]
  }

  @Test func `an entry that its key opens belongs to that credential, even if it cannot be expanded`() throws {
    let serialized = Self.serialized([try Self.uncompressed()])
    var array = try LargeBlobArray(serialized: serialized)
    #expect(array.content(key: Self.key) == nil)
    try array.set([1], key: Self.key)
    #expect(array.entries.count == 1 && array.content(key: Self.key) == [1])
    array = try LargeBlobArray(serialized: serialized)
    let removals = [array.remove(key: Self.other), array.remove(key: Self.key)]
    #expect(removals == [false, true])
  }

  // Holds: CONTROL-12
  @Test func `what none of the keys opens is removed, and nothing else`() throws {
    var array = try LargeBlobArray(serialized: Self.serialized([Self.entry(), ["of": "another kind"]]))
    try array.set([1, 2, 3], key: Self.other)
    #expect(array.size(key: Self.key) == 40 && array.size(key: Self.other) == 3)
    #expect(array.size(key: .random(count: 32)) == nil)
    let first = array.removeUnopened(by: [Self.key, Self.other])
    #expect(first == 1 && array.entries.count == 2)
    let second = array.removeUnopened(by: [Self.key])
    let kept = [try Self.entry()]
    #expect(second == 1 && array.entries == kept)
    let last = array.removeUnopened(by: [])
    #expect(last == 1 && array.entries.isEmpty)
  }

  @Test func `content too large for the array is refused`() throws {
    var array = try LargeBlobArray(serialized: Self.serialized([]))
    var generator = SystemRandomNumberGenerator()
    let random = (0..<10_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let fault = "the content of 10000 bytes is too long: all large blobs together, compressed, can have 8192 bytes"
    #expect(throws: CommandFailure(fault)) {
      try array.set(random, key: Self.key)
    }
    #expect(array.entries.isEmpty)
  }

  // Holds: CONTROL-12
  @Test func `data without the right digest, or that are not an array, are refused`() throws {
    let whole = Self.serialized([try Self.entry()])
    for count in 0..<whole.count {
      #expect(throws: CommandFailure.self) { try LargeBlobArray(serialized: Array(whole.prefix(count))) }
    }
    for (body, isArray) in [([0x80], true), ([0xA0], false), ([0x81], false), ([0x80, 0x80], false)]
      as [([UInt8], Bool)]
    {
      let serialized = body + SHA256.hash(body).prefix(16)
      #expect(((try? LargeBlobArray(serialized: serialized)) != nil) == isArray)
    }
  }

  static let malformed: [CBORValue] = [
    1, [:], [1: "text", 2: .bytes(Array(100..<112)), 3: 40], [1: .bytes([1]), 2: .bytes(Array(100..<112)), 3: 40],
    [1: .bytes([UInt8](repeating: 0, count: 17)), 2: .bytes([1]), 3: 40],
    [1: .bytes([UInt8](repeating: 0, count: 17)), 2: .bytes(Array(100..<112)), 3: .unsigned(.max)],
    [1: .bytes([UInt8](repeating: 0, count: 17)), 2: .bytes(Array(100..<112))],
  ]

  @Test(arguments: malformed) func `a malformed entry is not read`(_ entry: CBORValue) {
    #expect(LargeBlob(entry) == nil)
  }

  @Test func `an entry with a wrong size does not open`() throws {
    guard case .map(var map) = try Self.entry() else { return }
    map[3] = 41
    #expect(try #require(LargeBlob(.map(map))).content(key: Self.key) == nil)
  }
}

@Suite struct DeflateTests {
  @Test func `data deflated by Python's zlib expand, to their exact size only`() throws {
    let compressed = try #require(Hex("4b54c8492c4a4f5548cac94fd25148c4c90300")).bytes
    #expect(Deflate.expand(compressed, to: 40) == LargeBlobArrayTests.content)
    for size in [0, 39, 41] { #expect(Deflate.expand(compressed, to: size) == nil) }
    for count in 0..<compressed.count { #expect(Deflate.expand(Array(compressed.prefix(count)), to: 40) == nil) }
    #expect(Deflate.expand(compressed + [0], to: 40) == nil)
    #expect(Deflate.expand([0xFF, 0xFF], to: 40) == nil)
  }
}

@Suite struct LargeBlobReportTests {
  private static func holder() throws -> LargeBlobHolder {
    var credential = CredentialTextTests.credential(name: "alice")
    credential.largeBlobKey = LargeBlobArrayTests.key.bytes
    return try #require(LargeBlobHolder(credential))
  }

  private static func report(_ entries: [CBORValue]) throws -> LargeBlobReport {
    let array = CBOREncoder.encode(.array(entries))
    return LargeBlobReport(
      try LargeBlobArray(serialized: array + SHA256.hash(array).prefix(16)), used: array.count + 16, capacity: 8192,
      holders: [try holder()])
  }

  @Test func `each entry is listed with its passkey, if any`() throws {
    let report = try Self.report([
      LargeBlobArrayTests.entry(), LargeBlobArrayTests.uncompressed(), ["of": "another kind"],
    ])
    #expect(
      report.text == """
        BYTES  PASSKEY
        40     01abcdef0123  example.com  alice
        3      01abcdef0123  example.com  alice
        ?      no passkey of this machine opens it

        \(report.used) of 8192 bytes are used
        """)
    let opened = try Self.report([LargeBlobArrayTests.entry()])
    #expect(opened.text.hasSuffix("\n\n\(opened.used) of 8192 bytes are used"))
    #expect(
      report.json == [
        "used": .number(Int64(report.used)), "capacity": .number(8192),
        "blobs": [
          ["size": .number(40), "credentialId": .string("01abcdef012345"), "rpId": .string("example.com")],
          ["size": .number(3), "credentialId": .string("01abcdef012345"), "rpId": .string("example.com")],
          ["size": .null, "credentialId": .null, "rpId": .null],
        ],
      ])
  }

  @Test func `an empty array is reported as no large blobs`() throws {
    #expect(try Self.report([]).text == "17 of 8192 bytes are used; there are no large blobs")
  }

  @Test func `a passkey without the extension has no key`() {
    #expect(LargeBlobHolder(CredentialTextTests.credential()) == nil)
  }
}
