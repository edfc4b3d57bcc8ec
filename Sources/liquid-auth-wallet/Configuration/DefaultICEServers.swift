import LiquidAuth

/// The public servers that the apps of Liquid Auth use.
///
/// Google's STUN, and Nodely's TURN with the user that the apps' guides publish. They learn who talks with whom; what
/// passes them is encrypted from end to end.
///
/// Left out are those over TLS (`ICEServerURL`) and further STUN servers of the same owner: webrtcbin asks one.
let defaultICEServers = [
  ICEServer(urls: ["stun:stun.l.google.com:19302"]),
  ICEServer(
    urls: [
      "turn:global.turn.nodely.network:80?transport=tcp", "turn:eu.turn.nodely.io:80?transport=tcp",
      "turn:us.turn.nodely.io:80?transport=tcp",
    ], username: "liquid-auth", credential: "sqmcP4MiTKMT4TGEDSk9jgHY"),
]
