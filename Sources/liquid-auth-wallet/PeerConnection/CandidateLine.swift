/// A candidate as WebRTC's objects have it, `candidate:…`, and as GStreamer takes it, a line of a session description:
/// RFC 8839 §5.1.
enum CandidateLine {
  private static let prefix = "a="

  /// The line: `a=candidate:…`.
  static func attribute(_ candidate: String) -> String {
    candidate.hasPrefix(prefix) ? candidate : prefix + candidate
  }

  /// The value: `candidate:…`.
  static func value(_ line: String) -> String {
    line.hasPrefix(prefix) ? String(line.dropFirst(prefix.count)) : line
  }

  /// The identification tags of a description's media sections in their order, empty where there is none: RFC 5888 §4.
  static func mediaTags(in description: String) -> [String] {
    var tags: [String] = []
    for line in description.split(whereSeparator: \.isNewline) {
      if line.hasPrefix("m=") { tags.append("") }
      if line.hasPrefix("a=mid:"), !tags.isEmpty { tags[tags.count - 1] = String(line.dropFirst("a=mid:".count)) }
    }
    return tags
  }
}
