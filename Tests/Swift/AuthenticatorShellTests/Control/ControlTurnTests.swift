import EventLoop
import Foundation
import Testing

@testable import liquid_authenticator

/// Runs the turns of the loop one by one.
@Suite struct ControlTurnTests {
  /// A listener whose loop is blocked: only the test serves it.
  private final class BlockedControlSocket {
    let control: OpenControlSocket
    private let goesOn = DispatchSemaphore(value: 0)

    init() throws {
      let loop = try EventLoop()
      let stands = DispatchSemaphore(value: 0)
      loop.perform { [goesOn] in
        stands.signal()
        goesOn.wait()
      }
      stands.wait()
      control = try OpenControlSocket(on: loop)
    }

    deinit { goesOn.signal() }

    func turn() {
      var descriptors: [pollfd] = []
      _ = control.listener.interests(&descriptors)
      _ = poll(&descriptors, nfds_t(descriptors.count), 0)
      control.listener.ready(descriptors[...])
    }
  }

  /// The indices of the clients that have an answer; takes the answers.
  private func answered(_ clients: [Client]) -> Set<Int> {
    Set(
      clients.indices.filter { index in
        var byte: UInt8 = 0
        return recv(clients[index].descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == 1
      })
  }

  // Holds: CONTROL-16
  @Test func `a turn reads a limited number of bytes, and the next begins with the clients that waited`() throws {
    let held = try BlockedControlSocket()
    let clients = try (0..<10).map { _ in try held.control.connect() }
    held.turn()
    let packet = ControlListenerTests.unreadable(0x63, count: 8192)
    for client in clients { client.send(packet) }

    held.turn()
    let first = answered(clients)
    #expect(first.count == 4)
    for index in first { clients[index].send(packet) }
    held.turn()
    let second = answered(clients)
    #expect(second.count == 4)
    #expect(second.isDisjoint(with: first))
    held.turn()
    let third = answered(clients)
    #expect(third.count == 4)
    #expect(third.isSuperset(of: Set(clients.indices).subtracting(first).subtracting(second)))
    held.turn()
    #expect(answered(clients) == first.subtracting(third))
    held.turn()
    #expect(answered(clients).isEmpty)
  }

  // Holds: CONTROL-16
  @Test func `a packet above the limit of a turn gets its own turn, and short ones share one`() throws {
    let held = try BlockedControlSocket()
    let clients = try (0..<10).map { _ in try held.control.connect() }
    held.turn()
    for client in clients { client.send(ControlListenerTests.unreadable(0x63, count: 100_000)) }
    var all: Set<Int> = []
    for turn in 1...10 {
      held.turn()
      all.formUnion(answered(clients))
      #expect(all.count == turn)
    }
    for client in clients { client.send([0x7F]) }
    held.turn()
    #expect(answered(clients).count == 10)
  }
}
