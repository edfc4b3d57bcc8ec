import Testing

@testable import liquid_auth

@Suite struct FollowScheduleTests {
  private var schedule = FollowSchedule()

  /// Brings the schedule to its rest at this time.
  private mutating func rest(at time: Duration) {
    schedule.handle(.asked, at: time)
    schedule.handle(.answered, at: time)
    schedule.handle(.passed, at: time)
  }

  // Holds: FOLLOW-6
  @Test mutating func `it connects, waits for the store, does one pass and rests`() {
    #expect(schedule.action(at: .seconds(5)) == .connect)
    schedule.handle(.asked, at: .seconds(5))
    #expect(schedule.isAsking && schedule.action(at: .seconds(900)) == .wait(until: nil), "the vault may be locked")
    schedule.handle(.answered, at: .seconds(901))
    #expect(!schedule.isAsking && schedule.action(at: .seconds(901)) == .pass)
    schedule.handle(.passed, at: .seconds(902))
    #expect(schedule.action(at: .seconds(100_000)) == .wait(until: nil), "no timer at rest")
  }

  // Holds: FOLLOW-7
  @Test
  mutating func `a pass begins two seconds after the last change of the store, and at most thirty after the first`() {
    rest(at: .seconds(10))
    schedule.handle(.answered, at: .seconds(20))
    #expect(schedule.action(at: .seconds(20)) == .wait(until: .seconds(22)))
    schedule.handle(.answered, at: .seconds(21))
    #expect(schedule.action(at: .seconds(22)) == .wait(until: .seconds(23)))
    for second in 22...60 {
      schedule.handle(.answered, at: .seconds(second))
      let due = min(second + 2, 50)
      #expect(schedule.action(at: .zero) == .wait(until: .seconds(due)))
    }
    #expect(schedule.action(at: .milliseconds(49_999)) == .wait(until: .seconds(50)))
    #expect(schedule.action(at: .seconds(50)) == .connect)
  }

  // Holds: FOLLOW-7
  @Test mutating func `a change of the folder waits half a second, and does not shorten the wait of the store`() {
    rest(at: .seconds(10))
    schedule.handle(.folderChanged, at: .seconds(20))
    #expect(schedule.action(at: .seconds(20)) == .wait(until: .milliseconds(20_500)))
    schedule.handle(.answered, at: .milliseconds(20_100))
    #expect(schedule.action(at: .milliseconds(20_500)) == .wait(until: .milliseconds(22_100)))
    schedule.handle(.folderChanged, at: .milliseconds(20_200))
    #expect(schedule.action(at: .milliseconds(20_500)) == .wait(until: .milliseconds(22_100)))
    #expect(schedule.action(at: .milliseconds(22_100)) == .connect)
  }

  // Holds: FOLLOW-7
  @Test mutating func `a change during a pass leads to another pass, and a change before it does not`() {
    rest(at: .seconds(10))
    schedule.handle(.folderChanged, at: .seconds(20))
    schedule.handle(.asked, at: .seconds(21))
    schedule.handle(.folderChanged, at: .seconds(21))
    schedule.handle(.answered, at: .seconds(21))
    schedule.handle(.passed, at: .seconds(22))
    #expect(schedule.action(at: .seconds(99)) == .wait(until: nil), "the pass has read it")
    schedule.handle(.answered, at: .seconds(100))
    schedule.handle(.asked, at: .seconds(102))
    schedule.handle(.answered, at: .seconds(102))
    schedule.handle(.folderChanged, at: .seconds(103))
    #expect(schedule.action(at: .seconds(104)) == .pass)
    schedule.handle(.passed, at: .seconds(104))
    #expect(schedule.action(at: .seconds(104)) == .connect)
  }

  /// Changes the folder at this time; returns the time of the pass, which brings nothing.
  private mutating func passInVain(at time: Duration, after delay: Duration) -> Duration {
    schedule.handle(.folderChanged, at: time)
    #expect(schedule.action(at: time) == .wait(until: time + delay))
    let end = time + delay
    #expect(schedule.action(at: end) == .connect)
    schedule.handle(.asked, at: end)
    schedule.handle(.answered, at: end)
    schedule.handle(.read(hasChanged: false), at: end)
    schedule.handle(.passed, at: end)
    #expect(schedule.action(at: end) == .wait(until: nil))
    return end
  }

  // Holds: FOLLOW-17
  @Test mutating func `changes of the folder that bring nothing are read less and less often`() {
    rest(at: .seconds(10))
    var time = Duration.seconds(20)
    for _ in 0..<5 { time = passInVain(at: time, after: .milliseconds(500)) }
    for delay in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] { time = passInVain(at: time, after: .seconds(delay)) }
    // The pass for the store does not wait for them.
    schedule.handle(.folderChanged, at: time)
    #expect(schedule.action(at: time) == .wait(until: time + .seconds(300)))
    schedule.handle(.answered, at: time)
    #expect(schedule.action(at: time) == .wait(until: time + .milliseconds(2500)))
    time += .milliseconds(2500)
    schedule.handle(.asked, at: time)
    schedule.handle(.answered, at: time)
    schedule.handle(.read(hasChanged: true), at: time)
    schedule.handle(.passed, at: time)
    for _ in 0..<5 { time = passInVain(at: time, after: .milliseconds(500)) }
    time = passInVain(at: time, after: .seconds(1))
  }

  // Holds: FOLLOW-17
  @Test mutating func `a change after a quiet time, or one of the store, does not wait longer`() {
    rest(at: .seconds(10))
    var time = Duration.seconds(20)
    for _ in 0..<5 { time = passInVain(at: time, after: .milliseconds(500)) }
    time = passInVain(at: time, after: .seconds(1))
    time = passInVain(at: time + .seconds(29), after: .seconds(2))
    time = passInVain(at: time + .seconds(29), after: .milliseconds(500))
    for _ in 0..<9 {
      schedule.handle(.answered, at: time)
      time += .seconds(2)
      schedule.handle(.asked, at: time)
      schedule.handle(.answered, at: time)
      schedule.handle(.read(hasChanged: false), at: time)
      schedule.handle(.passed, at: time)
    }
    time = passInVain(at: time, after: .milliseconds(500))
  }

  // Holds: FOLLOW-6
  @Test mutating func `after a lock in the middle of a pass, it waits for the unlocking and does a pass again`() {
    rest(at: .seconds(10))
    schedule.handle(.answered, at: .seconds(20))
    schedule.handle(.asked, at: .seconds(22))
    schedule.handle(.answered, at: .seconds(22))
    schedule.handle(.interrupted, at: .seconds(23))
    #expect(schedule.isAsking && schedule.action(at: .seconds(9_999)) == .wait(until: nil))
    schedule.handle(.answered, at: .seconds(10_000))
    #expect(schedule.action(at: .seconds(10_000)) == .pass)
  }

  // Holds: FOLLOW-6
  @Test mutating func `without an authenticator it waits for one, and connects as soon as it listens`() {
    schedule.handle(.notRunning, at: .seconds(1))
    #expect(schedule.action(at: .seconds(99_999)) == .wait(until: nil))
    schedule.handle(.folderChanged, at: .seconds(2))
    #expect(schedule.action(at: .seconds(99_999)) == .wait(until: nil))
    schedule.handle(.socketChanged, at: .seconds(3))
    #expect(schedule.action(at: .seconds(3)) == .connect)
    rest(at: .seconds(3))
    schedule.handle(.socketChanged, at: .seconds(4))
    #expect(schedule.action(at: .seconds(99_999)) == .wait(until: nil), "it is connected")
  }

  // Holds: FOLLOW-6
  @Test mutating func `a socket that appears before the authenticator listens gets a second try`() {
    schedule.handle(.notRunning, at: .seconds(1))
    schedule.handle(.socketChanged, at: .seconds(2))
    schedule.handle(.notRunning, at: .seconds(2))
    #expect(schedule.action(at: .seconds(2)) == .wait(until: .seconds(3)))
    #expect(schedule.action(at: .seconds(3)) == .connect)
    schedule.handle(.notRunning, at: .seconds(3))
    #expect(schedule.action(at: .seconds(99_999)) == .wait(until: nil), "the socket was left by a crash")
  }

  // Holds: FOLLOW-6
  @Test
  mutating func `it connects five seconds after a restart of the authenticator, and ever less often to a broken one`() {
    rest(at: .seconds(10))
    schedule.handle(.disconnected, at: .seconds(20))
    #expect(schedule.action(at: .milliseconds(24_999)) == .wait(until: .seconds(25)), "it may be stopped for good")
    #expect(schedule.action(at: .seconds(25)) == .connect)
    var time = Duration.seconds(25)
    for pause in [10, 20, 40, 60, 60] {
      schedule.handle(.failed, at: time)
      #expect(schedule.action(at: time) == .wait(until: time + .seconds(pause)))
      time += .seconds(pause)
      #expect(schedule.action(at: time) == .connect)
    }
    schedule.handle(.asked, at: time)
    schedule.handle(.disconnected, at: time)
    #expect(schedule.action(at: time) == .wait(until: time + .seconds(60)), "it listens, and does not answer")
    rest(at: time)
    schedule.handle(.disconnected, at: time)
    #expect(schedule.action(at: time) == .wait(until: time + .seconds(5)))
  }

  // Holds: FOLLOW-11
  @Test mutating func `after a pass that failed another one begins in five minutes, or after the next change`() {
    schedule.handle(.asked, at: .seconds(10))
    schedule.handle(.answered, at: .seconds(10))
    schedule.handle(.incomplete, at: .seconds(11))
    #expect(schedule.action(at: .seconds(310)) == .wait(until: .seconds(311)))
    #expect(schedule.action(at: .seconds(311)) == .connect)
    schedule.handle(.asked, at: .seconds(311))
    #expect(schedule.action(at: .seconds(999)) == .wait(until: nil), "the vault is locked")
    schedule.handle(.answered, at: .seconds(1000))
    schedule.handle(.incomplete, at: .seconds(1000))
    schedule.handle(.folderChanged, at: .seconds(1010))
    #expect(schedule.action(at: .seconds(1010)) == .wait(until: .milliseconds(1_010_500)))
    schedule.handle(.asked, at: .seconds(1011))
    schedule.handle(.answered, at: .seconds(1011))
    schedule.handle(.passed, at: .seconds(1011))
    #expect(schedule.action(at: .seconds(99_999)) == .wait(until: nil), "no timer without a failure")
  }
}
