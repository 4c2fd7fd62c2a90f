import AppStore
import Platform
import Store
public import StrictJSON

/// A time in a timeline at which the owner changed which entitlements the products of the customer
/// give, or how long they last.
public struct HistoryMapping: Sendable {
  /// Of the event of the mapping.
  public let seq: Int64
  /// When we received it, milliseconds since 1970 UTC.
  public let at: Int64
  private let gained: [String]
  private let lost: [String]

  private let durations: [String]

  /// - Parameters:
  ///   - durations: those that are other ones since, by product id.
  ///   - ended: the products that have none any longer.
  init(
    _ said: StoredStatement, gained: Set<String>, lost: Set<String>,
    durations: [String: ProductDuration], ended: Set<String>
  ) {
    (seq, at) = (said.seq, said.receivedAt)
    self.durations =
      durations.map { "\($0) lasts \($1.milliseconds / 86_400_000) days" }.sorted()
      + ended.sorted(by: ByteSearch.precedes).map { "\($0) has no end" }
    self.gained = gained.sorted(by: ByteSearch.precedes)
    self.lost = lost.sorted(by: ByteSearch.precedes)
  }

  /// What happened, in plain English.
  public var description: String {
    let names = [
      gained.isEmpty ? nil : "give \(gained.joined(separator: ", "))",
      lost.isEmpty ? nil : "no longer give \(lost.joined(separator: ", "))",
    ]
    let given = names.compactMap { $0 }.joined(separator: ", and ")
    return "the mapping changed: "
      + ((given.isEmpty ? [] : ["products of this customer " + given]) + durations)
      .joined(separator: "; ")
  }

  public static let object = JSONObject<HistoryMapping>(
    "HistoryMapping",
    [
      .type("mapping"), JSONMember("seq", .integer("The event of the mapping.")) { $0.seq },
      JSONMember("at", .time("When it took effect.")) { $0.at },
      JSONMember("words", .words) { $0.description },
      JSONMember("gained", .list(.text("A name that products of this customer give since."))) {
        $0.gained
      },
      JSONMember("lost", .list(.text("A name that they no longer give."))) { $0.lost },
    ])
}
