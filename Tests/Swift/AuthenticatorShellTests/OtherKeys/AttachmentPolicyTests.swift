import Testing

@testable import liquid_authenticator

struct AttachmentPolicyTests {
  static let one = OtherKey(node: "/dev/hidraw1", name: "One", device: "0003:1209:0001.0007")
  static let two = OtherKey(node: "/dev/hidraw2", name: "Two", device: "0003:1209:0002.0008")
  /// `one`, plugged in again.
  static let oneAgain = OtherKey(node: "/dev/hidraw1", name: "One", device: "0003:1209:0001.0009")

  enum Event: Sendable {
    case see([OtherKey])
    case plugIn
    case pullOut
    case background(Bool)

    func apply(to policy: inout AttachmentPolicy) {
      switch self {
      case .see(let others): policy.see(others)
      case .plugIn: policy.plugIn()
      case .pullOut: policy.pullOut()
      case .background(let isInBackground): policy.isInBackground = isInBackground
      }
    }
  }

  /// Events after the start, whether the device is attached in the end, and the key that it is aside for.
  static let stories: [(String, [OtherKey], [Event], isWanted: Bool, aside: OtherKey?)] = [
    ("alone from the start", [], [], true, nil),
    ("a key was there before", [one], [], false, one),
    ("a key comes", [], [.see([one])], false, one),
    ("it goes", [], [.see([one]), .see([])], true, nil),
    ("a second comes, and the first goes", [], [.see([one]), .see([one, two]), .see([two])], false, two),
    ("the last of two goes", [one, two], [.see([two]), .see([])], true, nil),
    (
      "a key calls itself otherwise", [one], [.see([OtherKey(node: one.node, name: "", device: one.device)])], false,
      OtherKey(node: one.node, name: "", device: one.device)
    ),
    ("pulled out by hand", [], [.pullOut], false, nil),
    ("another user's session comes to the foreground", [], [.background(true)], false, nil),
    ("and goes", [], [.background(true), .background(false)], true, nil),
    ("plugged in by hand in the background", [], [.background(true), .plugIn], false, nil),
    (
      "pulled out by hand, then the session comes back", [], [.background(true), .pullOut, .background(false)], false,
      nil
    ),
    ("a key comes in the background", [], [.background(true), .see([one]), .background(false)], false, one),
    ("beside a key in the background", [one], [.plugIn, .background(true)], false, nil),
    ("by hand, then a key comes and goes", [], [.pullOut, .see([one]), .see([])], false, nil),
    ("by hand while stepped aside, then the key goes", [], [.see([one]), .pullOut, .see([])], false, nil),
    ("by hand out and in, with the key gone meanwhile", [one], [.pullOut, .see([]), .plugIn], true, nil),
    ("plugged in by hand beside a key", [one], [.plugIn], true, nil),
    ("beside a key, and another comes", [one], [.plugIn, .see([one, two])], true, nil),
    ("beside a key that goes, and comes again", [one], [.plugIn, .see([]), .see([one])], false, one),
    ("beside a key that is plugged in again at once", [one], [.plugIn, .see([oneAgain])], false, oneAgain),
    ("beside a key, then another that came is left", [one], [.plugIn, .see([one, two]), .see([two])], true, nil),
    ("beside a key, then out by hand", [one], [.plugIn, .pullOut, .see([one, two])], false, nil),
    ("plugged in by hand where it is anyway, then a key comes", [], [.plugIn, .see([one])], false, one),
  ]

  @Test(arguments: stories)
  func `manual attach and detach take precedence over the rule`(
    _ name: String, _ others: [OtherKey], _ events: [Event], _ isWanted: Bool, _ aside: OtherKey?
  ) {
    var policy = AttachmentPolicy()
    policy.begin(beside: others)
    for event in events { event.apply(to: &policy) }
    #expect(policy.isWanted == isWanted)
    #expect(policy.steppedAsideFor == aside)
  }

  @Test func `before the start the device is not wanted`() {
    var policy = AttachmentPolicy()
    policy.see([])
    #expect(!policy.isWanted)
    #expect(policy.steppedAsideFor == nil)
  }

  /// All sequences of up to five events.
  @Test func `after any sequence of events the device is attached exactly when the policy allows it`() {
    let events: [Event] = [
      .see([]), .see([Self.one]), .see([Self.one, Self.two]), .plugIn, .pullOut, .background(true), .background(false),
    ]
    var reached = [AttachmentPolicy()]
    reached[0].begin(beside: [])
    for _ in 0..<5 {
      reached = reached.flatMap { before in
        events.map { event in
          var after = before
          event.apply(to: &after)
          check(after, since: before, event)
          return after
        }
      }
    }
  }

  private func check(_ after: AttachmentPolicy, since before: AttachmentPolicy, _ event: Event) {
    #expect(after.steppedAsideFor == nil || !after.isWanted)
    #expect(!after.isInBackground || !after.isWanted)
    switch event {
    case .plugIn: #expect(after.isWanted != after.isInBackground)
    case .pullOut: #expect(!after.isWanted && after.steppedAsideFor == nil)
    case .background(true): break
    case .background(false):
      let isDue = before.isWanted || before.waitsForSession
      #expect(after.isWanted == (isDue && after.steppedAsideFor == nil))
    case .see where after.isInBackground: break
    case .see(let others):
      let isAway = !before.isWanted && before.steppedAsideFor == nil
      #expect(isAway ? !after.isWanted : !others.isEmpty || after.isWanted, "away by hand stays, all else comes back")
    }
  }
}
