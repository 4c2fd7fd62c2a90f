/// What the answer in a bundle is about. Times are in milliseconds since 1970 UTC.
struct BundleQuestion {
  /// Only events that Apple had signed by then count; nil for all events of the bundle.
  let asOf: Int64?
  /// The time that the entitlement is for.
  let time: Int64
  /// How long non-renewing products last at that time, by product id, in milliseconds.
  let durations: [String: Int64]
}
