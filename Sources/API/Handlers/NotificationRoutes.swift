import HTTPServer
import Ledger
import Platform
import Store

/// The route that receives Apple's notifications.
extension Route {
  static let notifications = Route(
    "postNotification", .ingest, "POST", "/v1/notifications", .anyone,
    "Accepts an App Store Server Notification, version 2 or 1.",
    bodies: [.notificationV2, .notificationV1], bodyLimit: { $0 },
    replies: [
      .answer("The notification is in the journal and synced to disk.", "Taken"),
      Reply(400, "The notification is malformed and will never be valid."),
      Reply(
        401, "No configured trust root or shared secret authenticates the notification."),
      Reply(
        422,
        "The notification is genuine but not admitted; it is stored in quarantine unless that is "
          + "full of other apps' notifications."), .unavailable,
    ], answer: LedgerHandler.postNotification)
}

extension LedgerHandler {
  /// Proves a notification and adds it to the batch that `flush` submits. The response is sent when
  /// the writer has journaled it (promise 1).
  fileprivate func postNotification(_ call: Call) -> HTTPResponse? {
    let now = Clock.now()
    let start = Clock.monotonicNanoseconds()
    defer { recordChainCache() }
    do throws(Refusal) {
      let received = try receiver.receive(body: call.request.body, at: now)
      proven.append(
        (
          received,
          { [service] outcome in
            call.sender.send(service.response(to: received, outcome, since: start))
          }
        ))
      return nil
    } catch {
      service.record(refusal: error, nil, since: start)
      return Problem.response(
        error, to: .notification, finding: diagnosis(.notification).finding(call.request.body))
    }
  }

  func diagnosis(_ wanted: Problem.Subject) -> BodyDiagnosis {
    BodyDiagnosis(wanted: wanted, takesVersion1: receiver.takesVersion1)
  }

  /// Adds to the metrics how often the prover used its chain cache since the last call.
  func recordChainCache() { chainCache.record(receiver, in: service.metrics) }
}

/// How much of a prover's chain cache counts is in the metrics already.
struct ChainCacheCounts {
  private var hits = 0
  private var misses = 0

  /// Adds to `metrics` what `receiver` has counted since the last call.
  mutating func record(_ receiver: Receiver, in metrics: Metrics) {
    if receiver.chainHits > hits { metrics.chainHits.add(Int64(receiver.chainHits - hits)) }
    if receiver.chainMisses > misses {
      metrics.chainMisses.add(Int64(receiver.chainMisses - misses))
    }
    (hits, misses) = (receiver.chainHits, receiver.chainMisses)
  }
}
