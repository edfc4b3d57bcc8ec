import CTAP2
import Testing

@Suite struct SelectionTests {
  // Holds: MGMT-30
  @Test func `a selection needs presence, and not the vault`() async {
    var world = TestWorld(isOpen: false)
    #expect(await world.send([0x0B]).bytes == [0x00])
    #expect(world.person.shown == [.init(prompt: UserPrompt(purpose: .select), verification: false)])
    #expect(world.keySource.openings == 0)
  }

  // Holds: MGMT-30
  @Test(arguments: [
    (UserInteractionError.declined, CTAPStatus.operationDenied), (.timedOut, .userActionTimeout),
    (.cancelled, .keepaliveCancel),
  ])
  func `a selection reports why there was no presence`(error: UserInteractionError, status: CTAPStatus) async {
    var world = TestWorld()
    world.person.will(.fail(error))
    #expect(await world.send([0x0B]).bytes == [status.rawValue])
  }

  @Test func `an answer without presence counts as a refusal`() async {
    var world = TestWorld()
    world.person.will(.answer(userPresent: false, userVerified: true))
    #expect(await world.send([0x0B]).bytes == [0x27])
  }
}
