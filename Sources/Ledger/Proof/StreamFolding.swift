public import Entitlements
public import Store

/// Folds the journaled events of one stream, in their order.
///
/// An event that cannot be read is left out, and the first of them is kept: a row without it is
/// marked (promise 9).
public struct StreamFolding {
  public private(set) var state = StreamState()
  /// The seq of the first event that cannot be read.
  public private(set) var unreadable: Int64?

  /// Whether Apple asked about a refund.
  public private(set) var hasRequests = false

  public init() {}

  public mutating func fold(_ payload: JournaledPayload) {
    if let event = try? JournaledNotification.foldEvent(payload) {
      state.evolve(event)
      hasRequests = hasRequests || event.isRefundRequest
    } else if unreadable == nil {
      unreadable = payload.seq
    }
  }

  /// Why the row is broken; nil if it is not.
  var broken: String? { unreadable.map(ProjectionFolder.unreadable) }
}
