import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@testable import AlgorandTransaction

@Suite struct TransactionTests {
  private let vectors: Vector
  init() throws { vectors = try SDKVectors.load() }

  @Test func `ids, signatures and signed bytes equal those of the SDK for every type`() throws {
    #expect(vectors.transactions.array.count == 34)
    let keys = try [vectors.seed, vectors.anotherSeed].map { seed in
      var bytes = seed.bytes
      return try Ed25519.PrivateKey(seed: SecretBytes(consuming: &bytes))
    }
    let addresses = [vectors.address.text, vectors.anotherAddress.text]
    #expect(keys.map { AlgorandAddress(publicKey: $0.publicKey).text } == addresses)
    for vector in vectors.transactions.array {
      let transaction = try Transaction(decoding: vector["bytes"].bytes)
      #expect(transaction.id == vector.id.text, "\(vector)")
      #expect(transaction.sender.text == addresses[0], "\(vector)")
      for (key, expected) in zip(keys, [vector.signed.hex, vector.signedByAnother.hex]) {
        let signed = SignedTransaction(
          transaction, signature: try key.signature(for: transaction.signingInput),
          signer: AlgorandAddress(publicKey: key.publicKey))
        #expect(Hex(signed.bytes) == expected, "\(vector)")
        let decoded = try SignedTransaction(decoding: expected.bytes)
        #expect(decoded == signed, "\(vector)")
        #expect(decoded.transaction.id == vector.id.text, "\(vector)")
      }
    }
  }

  @Test func `transactions with other kinds of signatures are read with their ids`() throws {
    #expect(vectors.signedInOtherWays.array.count == 3)
    for vector in vectors.signedInOtherWays.array {
      let signed = try SignedTransaction(decoding: vector["bytes"].bytes)
      #expect(signed.transaction.id == vector.id.text, "\(vector)")
      #expect(Hex(signed.bytes) == vector["bytes"].hex, "\(vector)")
    }
  }

  // Holds: TXN-1
  @Test func `non-canonical bytes are refused with the name of the fault`() throws {
    #expect(vectors.malformedForm.array.count >= 50)
    for vector in vectors.malformedForm.array {
      let expected = try #require(TransactionError(vector), "\(vector)")
      #expect(throws: expected, "\(vector)") { try Transaction(decoding: vector["bytes"].bytes) }
    }
  }

  // Holds: TXN-2, TXN-3
  @Test func `an invalid transaction, or one with an unknown member, is refused with the reason`() throws {
    #expect(vectors.malformedContent.array.count >= 70)
    for vector in vectors.malformedContent.array {
      let expected = try #require(TransactionError(vector), "\(vector)")
      #expect(throws: expected, "\(vector)") { try Transaction(decoding: vector["bytes"].bytes) }
    }
  }

  @Test func `an invalid signed transaction is refused with the reason`() throws {
    #expect(vectors.malformedSigned.array.count >= 10)
    for vector in vectors.malformedSigned.array {
      let expected = try #require(TransactionError(vector), "\(vector)")
      #expect(throws: expected, "\(vector)") { try SignedTransaction(decoding: vector["bytes"].bytes) }
    }
  }

  // Holds: TXN-1
  @Test func `a transaction that is cut off anywhere is refused`() throws {
    for bytes in vectors.transactions.array.map(\.["bytes"].bytes) {
      for count in bytes.indices {
        #expect(throws: TransactionError.truncated) {
          try Transaction(decoding: Array(bytes.prefix(count)))
        }
      }
    }
  }

  // Holds: TXN-1
  @Test func `a changed byte is refused or encodes to itself`() throws {
    var (read, others) = (0, 0)
    for whole in vectors.transactions.array.map(\.["bytes"].bytes) where whole.count < 600 {
      for position in whole.indices {
        for change: UInt8 in [0x01, 0x10, 0x80] {
          var bytes = whole
          bytes[position] ^= change
          guard let value = try? MessagePackDecoder.decode(bytes) else { continue }
          read += 1
          others += value.encoded == bytes ? 0 : 1
        }
      }
    }
    #expect(read > 10_000)
    #expect(others == 0)
  }

  @Test func `input that is too long is refused before decoding`() throws {
    let limit = 65_536
    #expect(Transaction.maximumSize == limit)
    #expect(throws: TransactionError.tooLong) { try Transaction(decoding: [UInt8](repeating: 0x91, count: limit + 1)) }
    #expect(throws: TransactionError.tooDeep) { try Transaction(decoding: [UInt8](repeating: 0x91, count: limit)) }
    #expect(throws: TransactionError.tooLong) {
      try SignedTransaction(decoding: [UInt8](repeating: 0x80, count: limit + 1))
    }
  }

  // Holds: TXN-5
  @Test func `a foreign name in an error is escaped and cut`() {
    let error = TransactionError.unknownMember("a\"\nfee\u{202E}")
    #expect(error.description == #"the member "a\"\u{A}fee\u{202E}" is unknown"#)
    let long = TransactionError.unknownType(String(repeating: "x", count: 60_000))
    #expect(long.description.utf8.count < 100)
  }

  @Test func `every error is one short line`() {
    var told: Set<String> = []
    let malformed = [vectors.malformedForm, vectors.malformedContent, vectors.malformedSigned].flatMap(\.array)
    for vector in malformed {
      guard let text = TransactionError(vector)?.description else { continue }
      #expect(text.utf8.count < 120 && !text.utf8.contains(0x0A))
      // The name is part of the line, so that all errors differ.
      told.insert(text)
    }
    let faults = Set(malformed.map { $0.error.array.map(\.text) })
    #expect(told.count == faults.count)
  }

  @Test func `the same bytes are the same transaction`() throws {
    let transactions = try vectors.transactions.array.map { try Transaction(decoding: $0["bytes"].bytes) }
    #expect(Set(transactions + transactions).count == transactions.count)
    #expect(transactions[0] != transactions[1])
  }
}
