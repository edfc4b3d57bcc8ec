// tutorial: begin
import Foundation
import LiquidAuth
// tutorial: end
import Testing

// tutorial: begin
struct KnownSuffixes: PublicSuffixes {
  func isPublicSuffix(_ domain: String) -> Bool { ["com", "co.uk", "github.io"].contains(domain) }
}
// tutorial: end

@Test func `the tutorial of LiquidAuth reads a link and writes a registration request`() throws {
  // tutorial: begin
  let link = try LiquidURI("liquid://dapp.example.com/?requestId=019097ff-bb8c-7d42-9a3b-0a1b2c3d4e5f")
  // tutorial: end
  #expect(link.origin.serialized == "https://dapp.example.com")
  #expect(link.requestID.text == "019097ff-bb8c-7d42-9a3b-0a1b2c3d4e5f")

  // tutorial: begin
  do throws(LiquidAuthError) {
    _ = try LiquidURI("liquid://http://dapp.example.com/?requestId=1")
    Issue.record("accepted")
  } catch {
    print(error)
    #expect(error.kind == .origin(.insecure("dapp.example.com")))
  }
  // tutorial: end

  // tutorial: begin
  let address = "FGWLVYKBXTFPBMRODKKNGTILY43B4UTNBP7BFSEXSS6JGIUWNXL5IA32OI"
  let request = HTTPRequest(
    method: .post, url: "\(link.origin.serialized)/attestation/request",
    headers: [HTTPHeader("Content-Type", "application/json")],
    body: Array(try JSONEncoder().encode(AttestationRequest(username: address))))
  // tutorial: end
  let sent = try JSONDecoder().decode(AttestationRequest.self, from: Data(request.body ?? []))
  #expect(sent == AttestationRequest(username: address) && sent.extensions.liquid)

  // tutorial: begin
  let answer = #"{"challenge":"nCbErBUTpowZ16C6h2KNpT8jSzI9e2rw1TMiY0SBgSg","rp":{"id":"example.com"}}"#
  let options = try JSONDecoder().decode(AttestationOptions.self, from: Data(answer.utf8))
  let rpID = options.rp?.id ?? ""
  try link.origin.check(rpID: rpID, KnownSuffixes())
  // tutorial: end
  #expect(rpID == "example.com")
  #expect(throws: LiquidAuthError.self) { try link.origin.check(rpID: "com", KnownSuffixes()) }
  #expect(throws: LiquidAuthError.self) { try link.origin.check(rpID: "example.org", KnownSuffixes()) }

  // tutorial: begin
  let clientData = try ClientData(.registration, challenge: Challenge(options.challenge), origin: link.origin)
  print(String(decoding: clientData.json, as: UTF8.self))
  // tutorial: end
  #expect(clientData.hash.count == 32)
}
