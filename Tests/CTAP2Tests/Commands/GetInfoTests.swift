import CBOR
import CTAP2
import TestVectors
import Testing

@Suite struct GetInfoTests {
  @Test func `tells what is whole, byte for byte`() async {
    var world = TestWorld()
    // {1: ["FIDO_2_0"], 2: ["credProtect", "liquid"], 3: aaguid, 4: {rk, up, uv, plat: false},
    //  5: 1800, 7: 8, 8: 128, 9: ["usb"], 10: [ES256, EdDSA], 0x16: ["packed"]}
    #expect(
      await world.send([0x04]).description == """
        00aa0181684649444f5f325f3002826b6372656450726f74656374666c6971756964035083e27e5d962b474dbe2c9c194dd147a904a4\
        62726bf5627570f5627576f564706c6174f40519070807080818800981637573620a82a2\
        63616c672664747970656a7075626c69632d6b6579a263616c672764747970656a7075626c69632d6b65791681667061636b6564
        """)
  }

  @Test func `without verification and extensions names neither`() async {
    var world = TestWorld(canVerify: false, extensions: [])
    #expect(
      await world.send([0x04]).description == """
        00a90181684649444f5f325f30035083e27e5d962b474dbe2c9c194dd147a904a362726bf5627570f564706c6174f4\
        0519070807080818800981637573620a82a263616c672664747970656a7075626c69632d6b6579a263616c\
        672764747970656a7075626c69632d6b65791681667061636b6564
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
