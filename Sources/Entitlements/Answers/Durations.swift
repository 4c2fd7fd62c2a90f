public import AppStore
import Platform

/// How long the non-renewing products of an app last, as the owner said it in the course of time:
/// each word counts from when it was said on. The first one counts before it, too.
public struct Durations: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  /// What was said of a product; no duration: that it has no end.
  public struct Entry: Sendable, Equatable {
    /// From when on, milliseconds since 1970; `Int64.min` for the first.
    public let from: Int64
    public let duration: ProductDuration?

    public init(from: Int64, duration: ProductDuration?) {
      (self.from, self.duration) = (from, duration)
    }
  }

  /// By product id, each from `Int64.min` on, in order.
  public private(set) var products: [String: [Entry]] = [:]
  /// Whether anything was said of any product, be it that none has a duration.
  public private(set) var isSaid = false
  /// What was said last, by product id.
  public private(set) var last: [String: ProductDuration] = [:]

  public init() {}

  /// As they were read from where they are kept; nothing can be added to them.
  public init(_ products: [String: [Entry]]) { self.products = products }

  /// One word, which counts at every time.
  public init(_ durations: [String: ProductDuration]) {
    if !durations.isEmpty { say(durations, at: .min) }
  }

  /// One word, which counts at every time: milliseconds by product id.
  public init(milliseconds: [String: Int64]) {
    self.init(milliseconds.mapValues { ProductDuration(milliseconds: $0) })
  }

  public init(dictionaryLiteral elements: (String, Int64)...) {
    self.init(milliseconds: Dictionary(elements) { $1 })
  }

  public var isEmpty: Bool { products.isEmpty }

  /// Adds what was said last.
  ///
  /// - Parameters:
  ///   - durations: of all products that have one.
  ///   - time: when, milliseconds since 1970. Where the clock was set back it counts from the word
  ///     before on.
  public mutating func say(_ durations: [String: ProductDuration], at time: Int64) {
    defer { (isSaid, last) = (true, durations) }
    for product in Set(durations.keys).union(last.keys)
    where durations[product] != last[product] || !isSaid {
      let duration = durations[product]
      guard let known = products[product]?.last else {
        // Said for the first time: of no product, or that this one had no end until now.
        let first = Entry(from: .min, duration: isSaid ? nil : duration)
        products[product] = [first] + (isSaid ? [Entry(from: time, duration: duration)] : [])
        continue
      }
      let from = max(known.from, time)
      // A word that is taken back at once counted at no time.
      if from == known.from { products[product]?.removeLast() }
      products[product]?.append(Entry(from: from, duration: duration))
    }
  }

  /// What was known at a time: without what was said later, but for the first word.
  public func known(by time: Int64) -> Durations {
    var known = self
    known.products = products.mapValues { $0.filter { $0.from <= time } }
    return known
  }

  /// What counts at a time, in milliseconds by product id.
  public func milliseconds(at time: Int64) -> [String: Int64] {
    products.compactMapValues { $0.last { $0.from <= time }?.duration?.milliseconds }
  }

  /// What counts for a product at a time. Compares bytes.
  public func duration(of product: String, at time: Int64) -> ProductDuration? {
    products[exactly: product]?.last { $0.from <= time }?.duration
  }
}

/// The durations of all apps.
public struct AppDurations: Sendable, Equatable {
  /// What was said; keys have no original transaction id.
  private var said: [StreamKey: Durations] = [:]
  /// What is configured, which counts for an app of which nothing was said.
  private var configured: Durations

  public init(configured: Durations = [:]) { self.configured = configured }

  public subscript(key: StreamKey) -> Durations {
    said.isEmpty ? configured : said[key.stream("")] ?? configured
  }

  /// What was said of an app; nil if nothing was.
  public func said(of app: StreamKey) -> Durations? { said[app.stream("")] }

  /// The same text for the same durations, and another for others.
  public var text: String {
    var text = configured.text
    for (app, durations) in said.sorted(by: { $0.key < $1.key }) {
      text += "\(app.environment.rawValue)\0\(app.bundleId)\0" + durations.text
    }
    return text
  }

  /// Sets what counts for an app of which nothing was said.
  public mutating func setUnsaid(_ durations: Durations, of app: StreamKey) {
    if said[app.stream("")] == nil { said[app.stream("")] = durations }
  }

  /// Adds what was said last of an app.
  public mutating func say(_ mapping: ProductMapping, of app: StreamKey, at time: Int64) {
    guard let durations = mapping.durations else { return }
    said[app.stream(""), default: Durations()].say(durations, at: time)
  }

  /// What was known at a time.
  public func known(by time: Int64) -> AppDurations {
    var known = self
    known.said = said.mapValues { $0.known(by: time) }
    return known
  }
}

extension Durations {
  fileprivate var text: String {
    products.sorted { ByteSearch.precedes($0.key, $1.key) }.map { product, said in
      said.map { word in
        let from = word.from == .min ? "" : "\(word.from)\0"
        return from + "\(product)\0\(word.duration.map { String($0.milliseconds) } ?? "")\0"
      }.joined()
    }.joined()
  }
}
