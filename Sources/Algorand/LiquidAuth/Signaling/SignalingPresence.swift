/// Who is there for the dApp's request, as the server reports it, and when the wallet may make a fresh offer.
///
/// The server reports how many devices are connected for the request, with this one; so two or more mean that a page of
/// the dApp is there. A page that leaves closes the channel a moment before the server counts again, so with an old
/// number the wallet makes its offer a little later. The server does not say which session of the page came back. Only
/// more devices than before show that there is another one, and then the user is asked. One that has left meanwhile
/// counts too, since it may be the page that had the channel.
struct SignalingPresence: Sendable {
  /// How long after the end of a channel the server may still count the page that left.
  ///
  /// It doubles, 6 times at most, while a page closes one channel after the other and stays.
  static let farewell = Duration.seconds(1)

  /// Whether a fresh offer may be made.
  enum NextOffer {
    case now
    /// After the user has agreed to another session of the page; with it, there were so many devices.
    case ifAgreed(devices: Int)
    /// It may be at `retry`; `nil` while no page is there.
    case notYet(retry: Duration?)
  }

  /// The devices for the request, as the server counts them; `nil` until it has reported them.
  private var deviceCount: Int?
  /// The most devices that the server has counted since the last channel was opened.
  private var peakCount = 0
  /// Whether the server has counted them since the last channel was opened.
  private var isCountedAgain = false
  /// When an old number may be used, and how often one was used since the server counted.
  private var recount = (due: Duration.zero, times: 0)
  /// The most devices at which no question is needed: the wallet and one session of the page, or those that were there
  /// when the channel was open, or those to which the user agreed.
  private var usualCount = 2
  /// When the next fresh offer may be made, so that a server cannot make the wallet work without pause.
  private var earliestOffer = Duration.zero

  /// Whether the server has reported a number of devices.
  var isReported: Bool { deviceCount != nil }

  /// Whether a page of the dApp is there, by the last report.
  var hasPage: Bool { deviceCount.map { $0 >= 2 } ?? false }

  /// The server has counted the devices.
  mutating func count(_ devices: Int) {
    (deviceCount, isCountedAgain, recount.times) = (devices, true, 0)
    peakCount = max(peakCount, devices)
  }

  /// The connection to the server was lost: nobody is there until it reports again.
  mutating func serverLost() {
    if isReported { deviceCount = 0 }
  }

  /// A channel is open.
  mutating func channelOpened() {
    (isCountedAgain, peakCount) = (false, 0)
    usualCount = max(usualCount, deviceCount ?? 0)
  }

  /// The channel has ended.
  mutating func channelEnded(at now: Duration) {
    recount = (now + Self.farewell * (1 << min(recount.times, 6)), recount.times + 1)
  }

  /// The user agrees to so many devices.
  mutating func agree(to devices: Int) { usualCount = devices }

  /// Delays the next offer, since the last one led to no channel.
  mutating func delayOffer(at now: Duration) { earliestOffer = now + SignalingMachine.offerInterval }

  /// Whether a fresh offer may be made; if so, or if the user is to be asked, delays the one after it.
  mutating func nextOffer(at now: Duration) -> NextOffer {
    guard let deviceCount, deviceCount >= 2 else { return .notYet(retry: nil) }
    let due = isCountedAgain ? earliestOffer : max(earliestOffer, recount.due)
    guard now >= due else { return .notYet(retry: due) }
    delayOffer(at: now)
    let devices = max(deviceCount, peakCount)
    return devices <= usualCount ? .now : .ifAgreed(devices: devices)
  }
}
