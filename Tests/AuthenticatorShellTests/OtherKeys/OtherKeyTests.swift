import Testing
import UHID

@testable import liquid_authenticator

struct OtherKeyTests {
  static func node(
    place: String = "usb-0000:00:14.0-1/input1", serial: String = "7", isSecurityKey: Bool = true
  ) -> HIDRawNode {
    HIDRawNode(
      path: "/dev/hidraw4", name: "Example Key", place: place, serial: serial, isSecurityKey: isSecurityKey)
  }

  @Test func `a FIDO key is described by its node and its name`() {
    let key = OtherKey(Self.node())
    #expect(key == OtherKey(node: "/dev/hidraw4", name: "Example Key"))
    #expect(key?.description == "/dev/hidraw4 Example Key")
    #expect(OtherKey(node: "/dev/hidraw4", name: "").description == "/dev/hidraw4")
  }

  @Test func `a mouse is not a security key`() { #expect(OtherKey(Self.node(isSecurityKey: false)) == nil) }

  @Test func `a device of our own daemons never counts, whatever its name and serial`() {
    #expect(OtherKey(Self.node(place: "liquid-authenticator")) == nil)
    #expect(OtherKey(Self.node(place: "liquid-authenticator", serial: "another daemon's")) == nil)
  }

  @Test func `another key with our name and serial still counts`() {
    let node = HIDRawNode(
      path: "/dev/hidraw5", name: UHIDIdentity.name, place: "usb-1/input0", serial: "liquid-authenticator",
      isSecurityKey: true)
    #expect(OtherKey(node)?.node == "/dev/hidraw5")
  }
}
