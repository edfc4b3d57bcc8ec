// tutorial: begin
import AlgorandTransaction
import CryptoPrimitives
import DeterministicKeys
import Foundation
// tutorial: end
import Testing

@Test func `the tutorial of AlgorandTransaction explains and signs a group`() throws {
  // tutorial: begin
  let fromDApp = [
    "iqNhbXTOABbjYKNmZWXNA+iiZnbNA+ijZ2VurHRlc3RuZXQtdjEuMKJnaMQgSGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiKjZ3Jw"
      + "xCAwUa7AgIW97FQWJCGg4OE5ClsEumdRN5vOEQFFQEd5u6Jsds0H0KNyY3bEICmsuuFBvMrwsi4alNNNC8c2HlJtC/4SyJeUvJMilm3X"
      + "o3NuZMQgA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbikdHlwZaNwYXk=",
    "i6RhYW10FKRhcmN2xCAprLrhQbzK8LIuGpTTTQvHNh5SbQv+EsiXlLyTIpZt16NmZWXNA+iiZnbNA+ijZ2VurHRlc3RuZXQtdjEuMKJnaMQg"
      + "SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiKjZ3JwxCAwUa7AgIW97FQWJCGg4OE5ClsEumdRN5vOEQFFQEd5u6Jsds0H0KNz"
      + "bmTEIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4pHR5cGWlYXhmZXKkeGFpZM4An5c9",
  ]
  let transactions = try fromDApp.map { try Transaction(decoding: Array(Data(base64Encoded: $0) ?? Data())) }
  // tutorial: end
  #expect(transactions.map { "\($0.content.kind)" } == ["payment", "asset transfer"])

  // tutorial: begin
  let group = try TransactionGroup(transactions)
  do throws(TransactionError) {
    _ = try TransactionGroup([transactions[0]])
    Issue.record("accepted")
  } catch {
    print(error)
    #expect(error.computedID != nil)
  }
  // tutorial: end
  #expect(group.id == transactions[0].group)

  // tutorial: begin
  var seed = Array(UInt8(0)..<32)
  let key = try Ed25519.PrivateKey(seed: SecretBytes(consuming: &seed))
  let account = AlgorandAddress(publicKey: key.publicKey)
  let isSigned = transactions.map { $0.sender == account }
  // tutorial: end
  #expect(isSigned == [true, true])

  // tutorial: begin
  let summary = GroupSummary(group, isSigned: isSigned, account: account)
  for line in summary.inShort { print("\(line.isWarning ? "!" : " ") \(line.label): \(line.value)") }
  // tutorial: end
  let receiver = "FGWL VYKB XTFP BMRO DKKN GTIL Y43B 4UTN BP7B FSEX SS6J GIUW NXL5 IA32OI"
  #expect(
    summary.inShort.map { "\($0.isWarning ? "!" : " ") \($0.label): \($0.value)" } == [
      "  Transactions: payment (1), asset transfer (1)", "  You send: 1.500000 ALGO to \(receiver)",
      "  You send: 20 smallest units of asset 10458941 to \(receiver)", "  Fees: 0.002000 ALGO",
    ])

  // tutorial: begin
  let signed = try transactions.map { transaction in
    SignedTransaction(transaction, signature: try key.signature(for: transaction.signingInput), signer: account)
  }
  let toNode = signed.flatMap(\.bytes)
  // tutorial: end
  #expect(try SignedTransaction(decoding: signed[0].bytes) == signed[0] && toNode.count > 500)
}
