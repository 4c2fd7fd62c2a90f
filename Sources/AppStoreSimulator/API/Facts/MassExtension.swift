/// A request to extend the renewal dates of all active subscribers, and what came of it.
struct MassExtension: Sendable {
  let identifier: String
  let productId: String
  /// Alpha-3 codes; nil for all.
  let countries: [String]?
  /// When the App Store is done, milliseconds since 1970.
  let completeDate: Int64
  var succeeded: Int64 = 0
  var failed: Int64 = 0
}
