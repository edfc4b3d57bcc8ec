import CBOR
import CTAP2
import Recovery
import TestVectors
import Testing

@Suite struct GetInfoTests {
  /// The answer without the two members that are different each time.
  private func told(by world: inout TestWorld) async throws -> String {
    let answer = await world.send([0x04])
    var map = try #require(answer.map)
    for member: CBORValue in [0x19, 0x1E] {
      #expect(map[member]?.bytes?.count == 32)
      map[member] = nil
    }
    return Hex(answer.bytes.prefix(1) + CBOREncoder.encode(.map(map))).description
  }

  // Holds: INFO-4
  @Test(
    arguments: [([.fingerprint], 6), ([.pam], 4), ([.pam, .fingerprint], 6)] as [([VerificationMeans], CBORValue)])
  func `uvModality names the fingerprint if one verifies`(
    _ means: [VerificationMeans], _ modality: CBORValue
  ) async throws {
    var world = TestWorld()
    var state = try world.store.state()
    state.settings.means = means
    try world.store.setState(state)
    #expect(await world.send([0x04]).map?[0x12] == modality)
  }

  // Holds: INFO-1, INFO-2, INFO-3, INFO-4, INFO-5, EXT-16
  @Test func `getInfo lists all features, byte for byte`() async throws {
    var world = TestWorld()
    // {1: ["U2F_V2", "FIDO_2_0", "FIDO_2_1", "FIDO_2_3"], 2: ["credProtect", "credBlob", "largeBlobKey",
    //  "minPinLength", "hmac-secret", "hmac-secret-mc", "thirdPartyPayment", "liquid"], 3: aaguid,
    //  4: {rk, up, uv, plat: false, uvAcfg, alwaysUv: false, credMgmt, authnrCfg, clientPin: false, largeBlobs,
    //      perCredMgmtRO, pinUvAuthToken, setMinPINLength, makeCredUvNotRqd}, 5: 1800, 6: [2, 1], 7: 6, 8: 128,
    //  9: ["hybrid", "usb"], 10: [ES256, EdDSA], 0x0B: 8192, 0x0C: false, 0x0D: 4, 0x0F: 64, 0x10: 8, 0x12: 4, 0x14: 10000,
    //  0x16: ["packed"], 0x1D: 63, 0x1F: [2, 3]}, and 0x19 and 0x1E, which EncryptedStateTests reads
    #expect(
      try await told(by: &world) == """
        00b40184665532465f5632684649444f5f325f30684649444f5f325f31684649444f5f325f3302886b6372656450726f74656374\
        6863726564426c6f626c6c61726765426c6f624b65796c6d696e50696e4c656e6774686b686d61632d7365637265746e686d6163\
        2d7365637265742d6d6371746869726450617274795061796d656e74666c6971756964035083e27e5d962b474dbe2c9c194dd147\
        a904ae62726bf5627570f5627576f564706c6174f466757641636667f568616c776179735576f468637265644d676d74f5696175\
        74686e72436667f569636c69656e7450696ef46a6c61726765426c6f6273f56d706572437265644d676d74524ff56e70696e5576\
        41757468546f6b656ef56f7365744d696e50494e4c656e677468f5706d616b654372656455764e6f74527164f505190708068202\
        01070608188009826668796272696463757362\
        0a82a263616c672664747970656a7075626c69632d6b6579a263616c672764747970656a7075626c\
        69632d6b65790b1920000cf40d040f184010081204141927101681667061636b6564181d183f181f820203
        """)
  }

  // Holds: INFO-3, INFO-5
  @Test func `getInfo without verification and extensions lists neither`() async throws {
    var world = TestWorld(canVerify: false, extensions: [])
    #expect(
      try await told(by: &world) == """
        00b10184665532465f5632684649444f5f325f30684649444f5f325f31684649444f5f325f33035083e27e5d962b474dbe2c9c19\
        4dd147a904ac62726bf5627570f564706c6174f468616c776179735576f468637265644d676d74f569617574686e72436667f569\
        636c69656e7450696ef46a6c61726765426c6f6273f56d706572437265644d676d74524ff56e70696e557641757468546f6b656e\
        f56f7365744d696e50494e4c656e677468f5706d616b654372656455764e6f74527164f5051907080682020107060818800982\
        6668796272696463757362\
        0a82a263616c672664747970656a7075626c69632d6b6579a263616c672764747970656a7075626c69632d6b65790b1920\
        000cf40d041008141927101681667061636b6564181d183f181f820203
        """)
  }

  @Test func `getInfo for another computer has neither a PIN nor hmac-secret, byte for byte`() async {
    var world = TestWorld()
    world.comesFromAnotherComputer()
    // {1: ["FIDO_2_0", "FIDO_2_1", "FIDO_2_3"], 2: ["credProtect", "credBlob", "prf"], 3: aaguid,
    //  4: {rk, up, uv, plat: false}, 5: 1800, 7: 6, 8: 128, 9: ["hybrid", "usb"], 10: [ES256, EdDSA], 0x0F: 64,
    //  0x16: ["packed"]}
    #expect(
      Hex(await world.send([0x04]).bytes).description == """
        00ab0183684649444f5f325f30684649444f5f325f31684649444f5f325f3302836b6372656450726f746563746863726564426c\
        6f62637072660350\
        83e27e5d962b474dbe2c9c194dd147a904a462726bf5627570f5627576f564706c6174f40519070807060818800982666879627269\
        6463757362\
        0a82a263616c672664747970656a7075626c69632d6b6579a263616c672764747970656a7075626c69632d6b65790f1840168166\
        7061636b6564
        """)
    var bare = TestWorld(canVerify: false)
    bare.comesFromAnotherComputer()
    #expect(await bare.send([0x04]).map?[4]?.map?["uv"] == nil)
  }

  @Test func `getInfo needs no prompt, even if the vault is locked`() async {
    var world = TestWorld(isOpen: false)
    #expect(await world.send([0x04]).status == .success)
    #expect(await world.send([0x04]).map?[0x14] == nil, "how many passkeys there are, only the store knows")
    #expect(world.keySource.openings == 0)
    #expect(world.person.shown.isEmpty)
  }

  @Test func `getInfo reports the room for more passkeys`() async throws {
    var world = TestWorld()
    _ = try await world.register()
    #expect(await world.send([0x04]).map?[0x14] == 9999)
    world.store.pretendToHold(10_003)
    #expect(await world.send([0x04]).map?[0x14] == 0, "recovered ones are kept beyond the limit")
  }

  @Test func `getInfo ignores a parameter map, which a later edition may define`() async {
    var world = TestWorld(isOpen: false)
    let plain = await world.send([0x04])
    #expect(await world.send(0x04, [1: true]) == plain)
    #expect(await world.send([0x04, 0x00]).status == .cborUnexpectedType)
    #expect(await world.send([0x04, 0xFF]).status == .invalidCBOR)
  }
}
