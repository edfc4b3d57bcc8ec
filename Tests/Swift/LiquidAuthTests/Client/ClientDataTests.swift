import CryptoPrimitives
import TestVectors
import Testing

@testable import LiquidAuth

@Suite struct ClientDataTests {
  static let text = "nCbErBUTpowZ16C6h2KNpT8jSzI9e2rw1TMiY0SBgSg"

  @Test(arguments: [
    (
      LiquidCeremony.registration, "https://example.com",
      #"{"type":"webauthn.create","challenge":"\#(text)","origin":"https://example.com"}"#
    ),
    (
      .authentication, "https://example.com:8443",
      #"{"type":"webauthn.get","challenge":"\#(text)","origin":"https://example.com:8443"}"#
    ),
    (
      .authentication, "http://localhost:3000",
      #"{"type":"webauthn.get","challenge":"\#(text)","origin":"http://localhost:3000"}"#
    ),
    (
      .registration, "https://127.0.0.1:3000",
      #"{"type":"webauthn.create","challenge":"\#(text)","origin":"https://127.0.0.1:3000"}"#
    ),
  ])
  func `client data has one form, byte for byte`(_ ceremony: LiquidCeremony, _ origin: String, _ json: String) throws {
    let clientData = try ClientData(ceremony, challenge: Challenge(Self.text), origin: WebOrigin(origin))
    #expect(String(decoding: clientData.json, as: UTF8.self) == json)
    #expect(clientData.hash == SHA256.hash(Array(json.utf8)))
  }

  @Test func `client data equals that of the contract`() throws {
    let vectors = try Vector("keys-and-recovery").liquid.accepted.array
    let challenge = try Challenge(Self.text)
    let written = try Set(
      [LiquidCeremony.registration, .authentication].flatMap { ceremony in
        try ["https://debug.liquidauth.com", "http://localhost:3000"].map { origin in
          Hex(try ClientData(ceremony, challenge: challenge, origin: WebOrigin(origin)).hash)
        }
      })
    // Vectors with crossOrigin or in the bound form have another form.
    let ours = vectors.filter { $0.clientDataJSON.optional?.text.contains("crossOrigin") == false }
    #expect(ours.count == 2)
    for vector in ours { #expect(written.contains(vector.clientDataHash.hex)) }
  }

  @Test(arguments: ["http://127.0.0.1:3000", "http://[::1]", "https://[::1]:8443"])
  func `an origin for which authenticators sign nothing is refused`(_ origin: String) throws {
    let challenge = try Challenge(Self.text)
    #expect(throws: LiquidAuthError.unsignedOrigin(origin)) {
      try ClientData(.registration, challenge: challenge, origin: WebOrigin(origin))
    }
  }

  // Holds: PEERSIGNIN-10
  @Test(arguments: [
    // 31, 33 and no bytes; a set unused bit; padding; another alphabet; a character that ends the string.
    "nCbErBUTpowZ16C6h2KNpT8jSzI9e2rw1TMiY0SBgQ", "nCbErBUTpowZ16C6h2KNpT8jSzI9e2rw1TMiY0SBgSgA", "",
    "nCbErBUTpowZ16C6h2KNpT8jSzI9e2rw1TMiY0SBgSh", "nCbErBUTpowZ16C6h2KNpT8jSzI9e2rw1TMiY0SBgSg=",
    "nCbErBUTpowZ16C6h2KNpT8jSzI9e2rw1TMiY0SBg+/", "nCbErBUTpowZ16C6h2KNpT8jSzI9e2rw1TMiY0SBgS\"",
    " nCbErBUTpowZ16C6h2KNpT8jSzI9e2rw1TMiY0SBg0", "nCbErBUTpowZ16C6h2KNpT8jSzI9e2rw1TMiY0SBé",
  ])
  func `a challenge other than 32 bytes in canonical base64url is refused`(_ text: String) {
    #expect(throws: LiquidAuthError.challengeForm) { try Challenge(text) }
  }
}
