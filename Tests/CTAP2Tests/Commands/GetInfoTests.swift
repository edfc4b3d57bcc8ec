import CBOR
import CTAP2
import TestVectors
import Testing

@Suite struct GetInfoTests {
  @Test func `tells what is whole, byte for byte`() async {
    var world = TestWorld()
    // {1: ["U2F_V2", "FIDO_2_0"], 2: ["credProtect", "credBlob", "largeBlobKey", "minPinLength", "hmac-secret",
    //  "hmac-secret-mc", "thirdPartyPayment", "liquid"], 3: aaguid,
    //  4: {rk, up, uv, plat: false, clientPin: false, pinUvAuthToken, makeCredUvNotRqd, largeBlobs}, 5: 1800, 6: [2, 1],
    //  7: 8, 8: 128, 9: ["usb"], 10: [ES256, EdDSA], 0x0B: 8192, 0x0C: false, 0x0D: 4, 0x0F: 64, 0x12: 4,
    //  0x16: ["packed"]}
    #expect(
      await world.send([0x04]).description == """
        00b00182665532465f5632684649444f5f325f3002886b6372656450726f746563746863726564426c6f626c6c61726765426c6f\
        624b65796c6d696e50696e4c656e6774686b686d61632d7365637265746e686d61632d7365637265742d6d637174686972645061\
        7274795061796d656e74666c6971756964035083e27e5d962b474dbe2c9c194dd147a904a862726bf5627570f5627576f564706c\
        6174f469636c69656e7450696ef46a6c61726765426c6f6273f56e70696e557641757468546f6b656ef5706d616b654372656455\
        764e6f74527164f5051907080682020107080818800981637573620a82a263616c672664747970656a7075626c69632d6b6579a2\
        63616c672764747970656a7075626c69632d6b65790b1920000cf40d040f184012041681667061636b6564
        """)
  }

  @Test func `without verification and extensions names neither`() async {
    var world = TestWorld(canVerify: false, extensions: [])
    #expect(
      await world.send([0x04]).description == """
        00ad0182665532465f5632684649444f5f325f30035083e27e5d962b474dbe2c9c194dd147a904a762726bf5627570f564706c61\
        74f469636c69656e7450696ef46a6c61726765426c6f6273f56e70696e557641757468546f6b656ef5706d616b65437265645576\
        4e6f74527164f5051907080682020107080818800981637573620a82a263616c672664747970656a7075626c69632d6b6579a263\
        616c672764747970656a7075626c69632d6b65790b1920000cf40d041681667061636b6564
        """)
  }

  @Test func `asks nobody, though the vault is locked`() async {
    var world = TestWorld(isOpen: false)
    #expect(await world.send([0x04]).status == .success)
    #expect(world.keySource.openings == 0)
    #expect(world.person.shown.isEmpty)
  }

  @Test func `passes over a parameter map that a later edition may define`() async {
    var world = TestWorld()
    let plain = await world.send([0x04])
    #expect(await world.send(0x04, [1: true]) == plain)
    #expect(await world.send([0x04, 0x00]).status == .cborUnexpectedType)
    #expect(await world.send([0x04, 0xFF]).status == .invalidCBOR)
  }
}
