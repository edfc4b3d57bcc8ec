import CBOR
import ControlProtocol
import Testing

@Suite struct KeyInformationTests {
  @Test func `members of getInfo that are absent have the defaults of CTAP`() {
    let information = KeyInformation([:])
    #expect(!information.isPINSet && !information.alwaysUV && !information.canVerify && !information.forcePINChange)
    #expect(information.minimumPINLength == 4 && information.largeBlobCapacity == 0 && information.extensions == [])
  }

  @Test func `members of getInfo are read by their keys`() {
    let information = KeyInformation([
      2: ["hmac-secret", 1, "credProtect"], 4: .map(["clientPin": true, "alwaysUv": true, "uv": true]), 11: 8192,
      12: true, 13: 6,
    ])
    #expect(information.isPINSet && information.alwaysUV && information.canVerify && information.forcePINChange)
    #expect(information.minimumPINLength == 6 && information.largeBlobCapacity == 8192)
    #expect(information.extensions == ["hmac-secret", "credProtect"])
  }

  @Test func `an answer without tries leaves none`() {
    #expect(
      TriesLeft(pin: [3: 5, 4: true], verification: [5: 7]) == TriesLeft(pin: 5, needsReplug: true, verification: 7))
    #expect(TriesLeft(pin: [:], verification: nil) == TriesLeft(pin: 0, needsReplug: false))
    #expect(TriesLeft(pin: [3: "a"], verification: [5: -1]) == TriesLeft(pin: 0, needsReplug: false))
  }
}
