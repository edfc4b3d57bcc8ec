/// A known site that a new site resembles by its name.
public struct SiteResemblance: Sendable, Equatable {
  /// How two names resemble each other.
  public enum Kind: Int, Sendable {
    /// The letters look alike (UTS #39).
    case looksAlike
    /// One letter is different, missing, added or exchanged with its neighbour.
    case oneLetter
    /// Only the end of the name differs, as in github.com and github.co.
    case otherSuffix
  }

  /// The known site.
  public var known: String
  public var kind: Kind

  public init(known: String, kind: Kind) { (self.known, self.kind) = (known, kind) }

  /// Compares a new site with the known ones.
  ///
  /// If the site resembles several known sites, the nearest counts: the first case of ``Kind``. A name that looks alike and
  /// has another end comes last. Of equally near sites, the first counts.
  ///
  /// - Parameters:
  ///   - site: an rp.id. Only domains are compared, not ids such as `ssh:`.
  ///   - known: rp.ids. A site whose name and suffix are those of a known site, such as a subdomain, resembles none.
  public init?(of site: String, to known: some Sequence<String>) {
    guard let new = DomainName(site) else { return nil }
    var best: (resemblance: SiteResemblance, distance: Int)?
    for other in known {
      guard let domain = DomainName(other) else { continue }
      if new.name == domain.name, new.suffix == domain.suffix { return nil }
      guard let kind = new.kind(to: domain) else { continue }
      let differsTwice = kind == .looksAlike && new.suffix != domain.suffix
      let distance = differsTwice ? Kind.otherSuffix.rawValue + 1 : kind.rawValue
      guard distance < best?.distance ?? .max else { continue }
      best = (SiteResemblance(known: other, kind: kind), distance)
    }
    guard let best else { return nil }
    self = best.resemblance
  }

  /// A domain in its own letters; `nil` if none of its labels is encoded (`xn--`), or if it is no domain.
  public static func letters(of site: String) -> String? { DomainName(site)?.decoded }

  /// The known sites that have the name and suffix of a site.
  ///
  /// If there is one, the site counts as known.
  public static func sites(_ known: [String], ofTheDomainOf site: String) -> [String] {
    guard let domain = DomainName(site) else { return [] }
    return known.filter { other in
      guard let other = DomainName(other) else { return false }
      return other.name == domain.name && other.suffix == domain.suffix
    }
  }
}

/// The parts of a domain that are compared.
private struct DomainName {
  /// The label before the suffix, decoded: `github` of www.github.com.
  let name: [Unicode.Scalar]
  /// The labels after the name.
  ///
  /// A last label of two letters and a label of up to three letters before it count as one suffix, as in co.uk.
  let suffix: [Unicode.Scalar]
  /// The whole domain in its own letters; `nil` if nothing is encoded.
  let decoded: String?
  /// The skeleton of the name (UTS #39): names that look alike have equal skeletons.
  ///
  /// A `String`, because two canonically equivalent strings are equal: a composed letter equals the letter and its mark.
  let skeleton: String

  /// `nil` if `rpID` is not a domain of at least two labels and at most 253 bytes.
  init?(_ rpID: String) {
    guard rpID.utf8.count <= 253 else { return nil }
    var labels: [[Unicode.Scalar]] = []
    for label in rpID.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false) {
      guard let decoded = Self.decoded(label) else { return nil }
      labels.append(decoded)
    }
    guard labels.count > 1 else { return nil }
    let isPair = labels.count > 2 && labels[labels.count - 1].count == 2 && labels[labels.count - 2].count <= 3
    let place = labels.count - (isPair ? 3 : 2)
    name = labels[place]
    suffix = Array(labels[(place + 1)...].joined(separator: ["."]))
    skeleton = String(String.UnicodeScalarView(name.flatMap { Self.look[$0] ?? [$0] }))
    let whole = Array(labels.joined(separator: ["."]))
    decoded = whole.allSatisfy(\.isASCII) ? nil : String(String.UnicodeScalarView(whole))
  }

  /// A label in its own letters, ASCII in lower case; `nil` if no domain can have it.
  private static func decoded(_ label: Substring.UnicodeScalarView) -> [Unicode.Scalar]? {
    guard 1...63 ~= label.count else { return nil }
    var letters: [Unicode.Scalar] = []
    for scalar in label {
      switch scalar {
      case "a"..."z", "0"..."9", "-", "_", "\u{80}"...: letters.append(scalar)
      case "A"..."Z": letters.append(Unicode.Scalar(UInt8(scalar.value) + 0x20))
      default: return nil
      }
    }
    return letters.starts(with: "xn--".unicodeScalars) ? Punycode.decode(letters.dropFirst(4)) : letters
  }

  func kind(to known: DomainName) -> SiteResemblance.Kind? {
    if name == known.name { return name.count < 3 ? nil : .otherSuffix }
    if skeleton == known.skeleton { return .looksAlike }
    guard suffix == known.suffix, min(name.count, known.name.count) >= 5 else { return nil }
    return Self.differsInOneLetter(name, known.name) ? .oneLetter : nil
  }

  /// Whether the Damerau-Levenshtein distance of two different names is one.
  private static func differsInOneLetter(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Bool {
    guard abs(a.count - b.count) <= 1 else { return false }
    let start = zip(a, b).prefix { $0 == $1 }.count
    let (a, b) = (a[start...], b[start...])
    if a.count != b.count { return a.count < b.count ? a == b.dropFirst() : a.dropFirst() == b }
    if a.dropFirst() == b.dropFirst() { return true }
    return a.count > 1 && a.prefix(2).elementsEqual(b.prefix(2).reversed()) && a.dropFirst(2) == b.dropFirst(2)
  }

  /// What letters look like: for ASCII, the prototypes of UTS #39, and two v for w; for others, ``Confusables``.
  private static let look: [Unicode.Scalar: [Unicode.Scalar]] = {
    var look: [Unicode.Scalar: [Unicode.Scalar]] = ["0": ["o"], "1": ["l"], "m": ["r", "n"], "w": ["v", "v"]]
    let ascii = look
    for word in Confusables.table.unicodeScalars.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
      let target = word.prefix { $0 != ":" }
      for letter in word.dropFirst(target.count + 1) { look[letter] = target.flatMap { ascii[$0] ?? [$0] } }
    }
    return look
  }()
}

/// Punycode: RFC 3492.
enum Punycode {
  /// Decodes a label without its `xn--`; `nil` if it is malformed, or overflows.
  static func decode(_ encoded: some BidirectionalCollection<Unicode.Scalar>) -> [Unicode.Scalar]? {
    var (output, rest): ([Unicode.Scalar], ArraySlice<Unicode.Scalar>) = ([], Array(encoded)[...])
    if let delimiter = rest.lastIndex(of: "-") {
      output = Array(rest[..<delimiter])
      rest = rest[(delimiter + 1)...]
    }
    guard !rest.isEmpty, output.allSatisfy(\.isASCII) else { return nil }
    var (number, index, bias): (UInt32, UInt32, UInt32) = (128, 0, 72)
    while !rest.isEmpty {
      let old = index
      var (weight, position): (UInt32, UInt32) = (1, 36)
      while true {
        guard let digit = rest.popFirst().flatMap(value) else { return nil }
        let product = digit.multipliedReportingOverflow(by: weight)
        let sum = index.addingReportingOverflow(product.partialValue)
        guard !product.overflow, !sum.overflow else { return nil }
        index = sum.partialValue
        let threshold = position <= bias ? 1 : min(26, position - bias)
        if digit < threshold { break }
        let next = weight.multipliedReportingOverflow(by: 36 - threshold)
        guard !next.overflow else { return nil }
        (weight, position) = (next.partialValue, position + 36)
      }
      let count = UInt32(output.count + 1)
      bias = adapted(index - old, count: count, isFirst: old == 0)
      let advanced = number.addingReportingOverflow(index / count)
      guard !advanced.overflow, let scalar = Unicode.Scalar(advanced.partialValue) else { return nil }
      (number, index) = (advanced.partialValue, index % count)
      output.insert(scalar, at: Int(index))
      index += 1
    }
    return output
  }

  private static func value(_ digit: Unicode.Scalar) -> UInt32? {
    switch digit {
    case "a"..."z": digit.value - 0x61
    case "0"..."9": digit.value - 0x30 + 26
    default: nil
    }
  }

  /// RFC 3492 §6.1.
  private static func adapted(_ delta: UInt32, count: UInt32, isFirst: Bool) -> UInt32 {
    var delta = isFirst ? delta / 700 : delta / 2
    delta += delta / count
    var position: UInt32 = 0
    while delta > 455 { (delta, position) = (delta / 35, position + 36) }
    return position + 36 * delta / (delta + 38)
  }
}
