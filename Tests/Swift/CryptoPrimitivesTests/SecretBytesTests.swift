import CryptoPrimitives
import Foundation
import TestVectors
import Testing

@Suite struct SecretBytesTests {
  @Test func `a secret holds the bytes that the closure writes`() {
    let secret = SecretBytes(count: 4) { $0.copyBytes(from: [1, 2, 3, 4]) }
    #expect(secret.count == 4)
    #expect(secret.revealed == Hex([1, 2, 3, 4]))
  }

  @Test func `bytes that the closure does not write are zero`() {
    #expect(SecretBytes(count: 5) { $0[2] = 7 }.revealed == Hex([0, 0, 7, 0, 0]))
  }

  @Test func `the memory of a secret is cleared before reuse`() {
    for _ in 0..<20 {
      _ = SecretBytes.random(count: 48)
      #expect(SecretBytes(count: 48) { _ in }.revealed == Hex([UInt8](repeating: 0, count: 48)))
    }
  }

  @Test func `secrets do not share memory, even after a failed initialization`() {
    _ = try? SecretBytes(count: 32) { _ throws(CryptoError) in throw .invalidLength }
    let secrets = (0..<20).map { number in SecretBytes([UInt8](repeating: number, count: 32)) }
    for (number, secret) in secrets.enumerated() {
      #expect(secret.revealed == Hex([UInt8](repeating: UInt8(number), count: 32)))
    }
  }

  @Test func `a secret can be empty`() {
    #expect(SecretBytes([]).count == 0)
    #expect(SecretBytes([]).isEqual(to: SecretBytes([])))
  }

  @Test func `an error of the closure is rethrown`() {
    #expect(throws: CryptoError.invalidLength) {
      try SecretBytes(count: 8) { _ throws(CryptoError) in throw .invalidLength }
    }
  }

  @Test func `consuming an array empties it`() {
    var entered: [UInt8] = [1, 2, 3]
    let secret = SecretBytes(consuming: &entered)
    #expect(entered == [])
    #expect(secret.revealed == Hex([1, 2, 3]))
  }

  @Test func `equality compares all bytes and the length`() {
    let secret = SecretBytes([1, 2, 3])
    #expect(secret.isEqual(to: SecretBytes([1, 2, 3])))
    #expect(!secret.isEqual(to: SecretBytes([1, 2, 4])))
    #expect(!secret.isEqual(to: SecretBytes([0, 2, 3])))
    #expect(!secret.isEqual(to: SecretBytes([1, 2])))
  }

  @Test func `a printed secret shows its length only`() {
    let secret = SecretBytes([0x61, 0x62, 0x63])
    var dumped = ""
    dump(secret, to: &dumped)
    #expect("\(secret)" == "SecretBytes(3)")
    #expect(String(reflecting: secret) == "SecretBytes(3)")
    #expect(dumped == "- SecretBytes(3) #0\n")
  }

  @Test func `writing to a filled secret ends the process`() async {
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      SecretBytes.random(count: 32).withUnsafeBytes { UnsafeMutableRawBufferPointer(mutating: $0)[0] = 1 }
    }
  }

  @Test func `reading past the end of a secret ends the process`() async {
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      SecretBytes.random(count: 32).withUnsafeBytes { bytes in
        let beyond = UnsafeRawBufferPointer(start: bytes.baseAddress, count: bytes.count + 1)
        exit(CInt(beyond[bytes.count]) & 1)
      }
    }
  }

  @Test func `a secret is left out of core dumps`() throws {
    let secret = SecretBytes.random(count: 32)
    let address = secret.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    // The flags of the mapping that contains the address: "dd" is "do not dump".
    var isMapping = false
    var flags: [Substring] = []
    let mappings = try #require(try FileHandle(forReadingFrom: URL(filePath: "/proc/self/smaps")).readToEnd())
    for line in String(decoding: mappings, as: UTF8.self).split(separator: "\n") {
      let fields = line.split(separator: " ")
      if fields[0] == "VmFlags:" {
        if isMapping { flags = Array(fields.dropFirst()) }
      } else if !fields[0].hasSuffix(":") {
        let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        isMapping = bounds.count == 2 && (bounds[0]..<bounds[1]).contains(address)
      }
    }
    #expect(flags.contains("dd"))
    #expect(flags.contains("rd") && !flags.contains("wr"))
    withExtendedLifetime(secret) {}
  }

  @Test func `random bytes differ each time`() {
    #expect(!SecretBytes.random(count: 32).isEqual(to: SecretBytes.random(count: 32)))
    #expect(randomBytes(32) != randomBytes(32))
    #expect(randomBytes(0) == [])
  }

  @Test(arguments: [([1, 2], [1, 2], true), ([1, 2], [1, 3], false), ([1, 2], [1], false), ([], [], true)])
  func `public bytes are compared by all bytes and the length`(_ a: [UInt8], _ b: [UInt8], _ expected: Bool) {
    #expect(constantTimeEqual(a, b) == expected)
  }
}
