import LiquidAuth

extension WebOriginError {
  /// What is wrong with an address that stands in the configuration or on the command line, and what to write.
  ///
  /// The error's own sentence speaks of links, which come from dApps.
  var inConfiguration: String {
    switch self {
    case .scheme: "it does not begin with https://"
    case .userInformation: "a user name stands before its host; leave that out"
    case .noHost: "it names no host; write https://node.example.org"
    case .host: "its host is no name of the DNS; write one such as https://node.example.org"
    case .path: "an address has no path; write scheme, host and port alone: https://node.example.org:443"
    case .notASCII: "its host has letters that can pass for others; write it in Punycode (xn--)"
    case .address: "its host is an address, which no certificate names; write its name"
    case .port: "its port is no number from 1 to 65535"
    case .insecure(let host): "http is for this machine alone, and \(host) is another; write https"
    }
  }
}
