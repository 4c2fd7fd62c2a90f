import Platform
import Store
public import StrictJSON

/// A time in a timeline at which the owner changed which entitlements the products of the customer
/// give.
public struct HistoryMapping: Sendable {
  /// Of the event of the mapping.
  public let seq: Int64
  /// When we received it, milliseconds since 1970 UTC.
  public let at: Int64
  private let gained: [String]
  private let lost: [String]

  init(_ said: StoredStatement, gained: Set<String>, lost: Set<String>) {
    (seq, at) = (said.seq, said.receivedAt)
    self.gained = gained.sorted(by: ByteSearch.precedes)
    self.lost = lost.sorted(by: ByteSearch.precedes)
  }

  /// What happened, in plain English.
  public var description: String {
    let changes = [
      gained.isEmpty ? nil : "give \(gained.joined(separator: ", "))",
      lost.isEmpty ? nil : "no longer give \(lost.joined(separator: ", "))",
    ]
    return "the mapping changed: products of this customer "
      + changes.compactMap { $0 }.joined(separator: ", and ")
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
