import CTAPHID
import Glibc
import TestSupport
import Testing

@testable import UHID

/// The test is the kernel: each packet on the socket pair is one event.
struct UHIDConnectionTests {
  private let kernel: Descriptor
  private let device: UHIDConnection

  init() throws {
    let (ours, theirs) = try Descriptor.pair()
    kernel = ours
    try #require(fcntl(theirs, F_SETFL, O_NONBLOCK) == 0)
    device = try #require(UHIDConnection(creating: .broker, serial: "1000", on: theirs))
  }

  @Test func `the device of the broker names the broker and the user`() throws {
    defer { device.destroy() }
    let event = try kernel.read()
    #expect(event.count == 4380)
    #expect(Array(event[0..<4]) == [11, 0, 0, 0], "UHID_CREATE2")
    #expect(Array(event[4..<17]) == Array("Liquid Auth".utf8) + [0, 0])
    #expect(Array(event[132..<151]) == Array("liquid-auth-broker".utf8) + [0], "HID_PHYS")
    #expect(Array(event[196..<201]) == Array("1000".utf8) + [0], "HID_UNIQ")
    #expect(Array(event[260..<264]) == [34, 0, 3, 0], "34 bytes of descriptor, BUS_USB")
    #expect(Array(event[280..<314]) == UHIDIdentity.reportDescriptor)
  }

  @Test func `events are read one at a time`() throws {
    defer { device.destroy() }
    _ = try kernel.read()
    guard case .none = device.next() else { throw Unexpected() }
    try kernel.write([5, 0, 0, 0])
    guard case .closed = device.next() else { throw Unexpected() }
    try kernel.write([4, 0, 0, 0])
    guard case .other = device.next() else { throw Unexpected() }
    var output = [UInt8](repeating: 0, count: 4380)
    (output[0], output[4100], output[4102]) = (6, 65, 1)
    output[5] = 0xAB
    try kernel.write(output)
    guard case .report(let report) = device.next() else { throw Unexpected() }
    #expect(report.bytes == [0xAB] + [UInt8](repeating: 0, count: 63))
  }

  @Test func `the end of the kernel's side is the end`() throws {
    defer { device.destroy() }
    shutdown(kernel.number, Int32(SHUT_RDWR))
    guard case .ended = device.next() else { throw Unexpected() }
  }

  private struct Unexpected: Error {}
}
