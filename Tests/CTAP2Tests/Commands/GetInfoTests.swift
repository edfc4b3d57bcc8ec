import CBOR
import CTAP2
import TestVectors
import Testing

@Suite struct GetInfoTests {
  @Test func `tells what is whole, byte for byte`() async {
    var world = TestWorld()
    // {1: ["FIDO_2_0"], 2: ["credProtect", "liquid"], 3: aaguid,
    //  4: {rk, up, uv, plat: false, clientPin: false, pinUvAuthToken, makeCredUvNotRqd}, 5: 1800, 6: [2, 1], 7: 8,
    //  8: 128, 9: ["usb"], 10: [ES256, EdDSA], 0x0C: false, 0x0D: 4, 0x12: 4, 0x16: ["packed"]}
    #expect(
      await world.send([0x04]).description == """
        00ae0181684649444f5f325f3002826b6372656450726f74656374666c6971756964035083e27e5d962b474dbe2c9c194dd147a9\
        04a762726bf5627570f5627576f564706c6174f469636c69656e7450696ef46e70696e557641757468546f6b656ef5706d616b65\
        4372656455764e6f74527164f5051907080682020107080818800981637573620a82a263616c672664747970656a7075626c6963\
        2d6b6579a263616c672764747970656a7075626c69632d6b65790cf40d0412041681667061636b6564
        """)
  }

  @Test func `without verification and extensions names neither`() async {
    var world = TestWorld(canVerify: false, extensions: [])
    #expect(
      await world.send([0x04]).description == """
        00ac0181684649444f5f325f30035083e27e5d962b474dbe2c9c194dd147a904a662726bf5627570f564706c6174f469636c6965\
        6e7450696ef46e70696e557641757468546f6b656ef5706d616b654372656455764e6f74527164f5051907080682020107080818\
        800981637573620a82a263616c672664747970656a7075626c69632d6b6579a263616c672764747970656a7075626c69632d6b65\
        790cf40d041681667061636b6564
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
