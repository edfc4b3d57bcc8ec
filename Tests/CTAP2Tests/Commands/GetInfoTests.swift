import CBOR
import CTAP2
import TestVectors
import Testing

@Suite struct GetInfoTests {
  @Test func `tells what is whole, byte for byte`() async {
    var world = TestWorld()
    // {1: ["U2F_V2", "FIDO_2_0"], 2: ["credProtect", "liquid"], 3: aaguid,
    //  4: {rk, up, uv, plat: false, clientPin: false, pinUvAuthToken, makeCredUvNotRqd, largeBlobs}, 5: 1800, 6: [2, 1], 7: 8,
    //  8: 128, 9: ["usb"], 10: [ES256, EdDSA], 0x0B: 8192, 0x0C: false, 0x0D: 4, 0x12: 4, 0x16: ["packed"]}
    #expect(
      await world.send([0x04]).description == """
        00af0182665532465f5632684649444f5f325f3002826b6372656450726f74656374666c6971756964035083e27e5d962b474dbe\
        2c9c194dd147a904a862726bf5627570f5627576f564706c6174f469636c69656e7450696ef46a6c61726765426c6f6273f56e70\
        696e557641757468546f6b656ef5706d616b654372656455764e6f74527164f5051907080682020107080818800981637573620a\
        82a263616c672664747970656a7075626c69632d6b6579a263616c672764747970656a7075626c69632d6b65790b1920000cf40d\
        0412041681667061636b6564
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
