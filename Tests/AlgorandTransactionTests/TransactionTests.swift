import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@testable import AlgorandTransaction

@Suite struct TransactionTests {
  private let vectors: SDKVectors
  init() throws { vectors = try SDKVectors.load() }

  @Test func `ids, signatures and signed bytes are the SDK's, for every type`() throws {
    #expect(vectors.transactions.count == 34)
    let keys = try [vectors.seed, vectors.anotherSeed].map { seed in
      var bytes = seed.bytes
      return try Ed25519.PrivateKey(seed: SecretBytes(consuming: &bytes))
    }
    #expect(keys.map { AlgorandAddress(publicKey: $0.publicKey).text } == [vectors.address, vectors.anotherAddress])
    for vector in vectors.transactions {
      let transaction = try Transaction(decoding: vector.bytes.bytes)
      #expect(transaction.id == vector.id, "\(vector.name)")
      #expect(transaction.sender.text == vectors.address, "\(vector.name)")
      for (key, expected) in zip(keys, [vector.signed, vector.signedByAnother]) {
        let signed = SignedTransaction(
          transaction, signature: try key.signature(for: transaction.signingInput),
          signer: AlgorandAddress(publicKey: key.publicKey))
        #expect(Hex(signed.bytes) == expected, "\(vector.name)")
        let decoded = try SignedTransaction(decoding: expected.bytes)
        #expect(decoded == signed, "\(vector.name)")
        #expect(decoded.transaction.id == vector.id, "\(vector.name)")
      }
    }
  }

  @Test func `what others sign in other ways has its id too`() throws {
    #expect(vectors.signedInOtherWays.count == 3)
    for vector in vectors.signedInOtherWays {
      let signed = try SignedTransaction(decoding: vector.bytes.bytes)
      #expect(signed.transaction.id == vector.id, "\(vector.name)")
      #expect(Hex(signed.bytes) == vector.bytes, "\(vector.name)")
    }
  }

  @Test func `bytes that a node would write differently are refused by the name of the fault`() throws {
    #expect(vectors.malformedForm.count >= 50)
    for vector in vectors.malformedForm {
      let expected = try #require(TransactionError(vector: vector.error), "\(vector.name)")
      #expect(throws: expected, "\(vector.name)") { try Transaction(decoding: vector.bytes.bytes) }
    }
  }

  @Test func `what is no transaction, or not known to the last member, is refused by the name of the fault`() throws {
    #expect(vectors.malformedContent.count >= 70)
    for vector in vectors.malformedContent {
      let expected = try #require(TransactionError(vector: vector.error), "\(vector.name)")
      #expect(throws: expected, "\(vector.name)") { try Transaction(decoding: vector.bytes.bytes) }
    }
  }

  @Test func `what is no signed transaction is refused by the name of the fault`() throws {
    #expect(vectors.malformedSigned.count >= 10)
    for vector in vectors.malformedSigned {
      let expected = try #require(TransactionError(vector: vector.error), "\(vector.name)")
      #expect(throws: expected, "\(vector.name)") { try SignedTransaction(decoding: vector.bytes.bytes) }
    }
  }

  @Test func `a transaction that is cut off anywhere is refused`() throws {
    for vector in vectors.transactions {
      for count in vector.bytes.bytes.indices {
        #expect(throws: TransactionError.truncated) {
          try Transaction(decoding: Array(vector.bytes.bytes.prefix(count)))
        }
      }
    }
  }

  @Test func `what is read has one form, whatever byte was changed`() throws {
    var (read, others) = (0, 0)
    for vector in vectors.transactions where vector.bytes.bytes.count < 600 {
      for position in vector.bytes.bytes.indices {
        for change: UInt8 in [0x01, 0x10, 0x80] {
          var bytes = vector.bytes.bytes
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

  @Test func `not a byte is looked at of what is too long`() throws {
    let limit = Transaction.maximumSize
    #expect(throws: TransactionError.tooLong) { try Transaction(decoding: [UInt8](repeating: 0x91, count: limit + 1)) }
    #expect(throws: TransactionError.tooDeep) { try Transaction(decoding: [UInt8](repeating: 0x91, count: limit)) }
    #expect(throws: TransactionError.tooLong) {
      try SignedTransaction(decoding: [UInt8](repeating: 0x80, count: limit + 1))
    }
  }

  @Test func `a name from outside cannot leave its line of an error`() {
    let error = TransactionError.unknownMember("a\"\nfee\u{202E}")
    #expect(error.description == #"the member "a\"\u{A}fee\u{202E}" is not known"#)
    let long = TransactionError.unknownType(String(repeating: "x", count: 60_000))
    #expect(long.description.utf8.count < 100)
  }

  @Test func `every fault is told in one short line`() {
    var told: Set<String> = []
    for vector in vectors.malformedForm + vectors.malformedContent + vectors.malformedSigned {
      guard let text = TransactionError(vector: vector.error)?.description else { continue }
      #expect(text.utf8.count < 120 && !text.utf8.contains(0x0A))
      // What is named is part of the line, so that two faults are never told alike.
      told.insert(text)
    }
    let faults = Set((vectors.malformedForm + vectors.malformedContent + vectors.malformedSigned).map(\.error))
    #expect(told.count == faults.count)
  }

  @Test func `the same bytes are the same transaction`() throws {
    let transactions = try vectors.transactions.map { try Transaction(decoding: $0.bytes.bytes) }
    #expect(Set(transactions + transactions).count == transactions.count)
  }
}
