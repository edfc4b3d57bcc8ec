import CTAP2

/// Where a request came in, and what its client gets meanwhile.
struct RequestOrigin: RequestClient {
  let door: Door
  /// The status of a CTAP2 request that came over CTAPHID; `nil` for U2F, whose hosts do not wait, and for requests of
  /// the control socket.
  var status: RequestStatus?
  /// Whether the authenticator has withdrawn the request; `nil` for a request of the device.
  var withdrawal: Withdrawal?
}
