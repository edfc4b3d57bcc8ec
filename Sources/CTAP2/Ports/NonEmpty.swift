/// A list of at least one element.
///
/// A collection with at least one element: the items of a prompt and its dialogs, so that there is no consent without
/// one.
public struct NonEmpty<Element> {
  /// All but the last, in their order.
  public var before: [Element]
  /// The last.
  public var last: Element

  public init(_ before: [Element] = [], last: Element) {
    self.before = before
    self.last = last
  }

  /// `nil` for a list of none.
  public init?(_ list: [Element]) {
    guard let last = list.last else { return nil }
    self.init(list.dropLast(), last: last)
  }

  /// All of them, in their order.
  public var all: [Element] { before + [last] }
  /// How many there are, at least 1.
  public var count: Int { before.count + 1 }

  /// The same with each element changed.
  public func map<Changed>(_ change: (Element) -> Changed) -> NonEmpty<Changed> {
    NonEmpty<Changed>(before.map(change), last: change(last))
  }

  /// The same with each element changed, of which the first has number 1.
  public func numbered<Changed>(_ change: (Int, Element) -> Changed) -> NonEmpty<Changed> {
    NonEmpty<Changed>(before.enumerated().map { change($0 + 1, $1) }, last: change(count, last))
  }
}

extension NonEmpty: Sendable where Element: Sendable {}
extension NonEmpty: Equatable where Element: Equatable {}
