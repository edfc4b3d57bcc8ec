import Testing
import UHID

@testable import liquid_authenticator

struct OtherKeyTests {
  static func node(
    place: String = "usb-0000:00:14.0-1/input1", serial: String = "7", isSecurityKey: Bool = true
  ) -> HIDRawNode {
    HIDRawNode(
      path: "/dev/hidraw4", device: "0003:1209:0001.0007", name: "Example Key", place: place, serial: serial,
      isSecurityKey: isSecurityKey)
  }

  @Test func `a FIDO key is described by its node and its name`() {
    let key = OtherKey(Self.node())
    #expect(key == OtherKey(node: "/dev/hidraw4", name: "Example Key", device: "0003:1209:0001.0007"))
    #expect(key?.description == "/dev/hidraw4 Example Key")
    #expect(key?.nameOrNode == "Example Key")
    let nameless = OtherKey(node: "/dev/hidraw4", name: "", device: "")
    #expect([nameless.description, nameless.nameOrNode] == ["/dev/hidraw4", "/dev/hidraw4"])
  }

  @Test func `a mouse is not a security key`() { #expect(OtherKey(Self.node(isSecurityKey: false)) == nil) }

  @Test func `a device of our own daemons never counts, whatever its name and serial`() {
    #expect(OtherKey(Self.node(place: "liquid-authenticator")) == nil)
    #expect(OtherKey(Self.node(place: "liquid-authenticator", serial: "another daemon's")) == nil)
  }

  // Holds: BROKER-9
  @Test func `a key whose serial contains the properties of ours still counts`() {
    // The kernel's uevent of a USB device with the serial "x\nHID_PHYS=liquid-auth-broker\nHID_UNIQ=1000".
    let usb = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/0003:1209:0001.0007"
    let place = HIDRawNode.place(physical: "liquid-auth-broker", directory: usb)
    #expect(OtherKey(Self.node(place: place, serial: "1000")) != nil)
    let ours = "/sys/devices/virtual/misc/uhid/0003:1209:0001.0008"
    #expect(HIDRawNode.place(physical: "liquid-auth-broker", directory: ours) == "liquid-auth-broker")
  }

  @Test func `another key with our name and serial still counts`() {
    let node = HIDRawNode(
      path: "/dev/hidraw5", device: "0003:1209:0001.0007", name: UHIDIdentity.name, place: "usb-1/input0",
      serial: "liquid-authenticator", isSecurityKey: true)
    #expect(OtherKey(node)?.node == "/dev/hidraw5")
  }
}
