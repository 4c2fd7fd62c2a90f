import Platform
import Simulator
import StrictJSON

/// What is sent: whole HTTP requests, made before anything is measured.
struct Input: Sendable {
  /// POSTs of distinct notifications in the order of their signing, three signatures in each.
  let requests: [[UInt8]]
  /// Mean bytes of a body on the wire.
  let bodyBytes: Double
  let customers: Int
  /// How many of the notifications each stream has.
  let streams: [String: Int]

  /// How long ago the fleet's first customer came.
  static let days: Int64 = 400
  /// 2026-01-01T00:00:00Z: the same payloads on every day the program runs.
  private static let end: Int64 = 1_767_225_600_000
  /// Customers counted to learn how many notifications one has.
  private static let probe = 400

  /// Signs about `events` notifications of a fleet.
  ///
  /// Those with fewer than three signatures (one-time products, mostly) are left out, so that every
  /// one costs the proof the same.
  static func make(
    about events: Int, _ authority: SimulatedAuthority
  ) throws(BenchError) -> Input {
    let perCustomer = Double(notifications(of: probe).count) / Double(probe)
    let customers = max(1, Int(Double(events) / perCustomer))
    let chosen = notifications(of: customers)
    var streams: [String: Int] = [:]
    for notification in chosen {
      if let id = notification.originalTransactionId { streams[id, default: 0] += 1 }
    }
    let requests = try sign(chosen, authority)
    let head = Self.head(length: 13_800).count
    let bytes = requests.reduce(0) { $0 + $1.count - head }
    return Input(
      requests: requests, bodyBytes: Double(bytes) / Double(max(1, requests.count)),
      customers: customers, streams: streams)
  }

  /// All of a fleet's that carry a transaction and a renewal, in the order of their signing.
  private static func notifications(of customers: Int) -> [SimulatedNotification] {
    let fleet = Fleet(app: SimulatedApp(), customers: customers, days: days, end: end, seed: 7)
    return fleet.notifications().filter { notification in
      let data = notification.payload["data"]
      return data?["transaction"] != nil && data?["renewalInfo"] != nil
    }
  }

  /// Signs on every processor: nothing is measured yet.
  private static func sign(
    _ notifications: [SimulatedNotification], _ authority: SimulatedAuthority
  ) throws(BenchError) -> [[UInt8]] {
    let parts = ProcessLimits.processors
    let results = Mailbox<(part: Int, requests: [[UInt8]]?)>(capacity: parts)
    for part in 0..<parts {
      do throws(PlatformError) {
        _ = try Thread.start("sign-\(part)") {
          let first = notifications.count * part / parts
          let end = notifications.count * (part + 1) / parts
          let requests = try? notifications[first..<end].map { notification in
            request(try authority.sign(notification: notification.payload))
          }
          _ = results.put((part, requests))
        }
      } catch {
        throw .unmeasurable("\(error)")
      }
    }
    var signed = [[[UInt8]]](repeating: [], count: parts)
    var waiting = parts
    while waiting > 0, let arrived = results.takeAll() {
      for result in arrived {
        guard let requests = result.requests else { throw .unmeasurable("could not sign") }
        signed[result.part] = requests
        waiting -= 1
      }
    }
    return signed.flatMap { $0 }
  }

  private static func request(_ body: [UInt8]) -> [UInt8] { head(length: body.count) + body }

  private static func head(length: Int) -> [UInt8] {
    Array(
      """
      POST /v1/notifications HTTP/1.1\r
      Host: 127.0.0.1\r
      Content-Type: application/json\r
      Content-Length: \(length)\r
      \r

      """.utf8)
  }

  /// A GET of one row.
  static func read(_ originalTransactionId: String, token: String) -> [UInt8] {
    Array(
      """
      GET /v1/entitlements/\(originalTransactionId) HTTP/1.1\r
      Host: 127.0.0.1\r
      Authorization: Bearer \(token)\r
      \r

      """.utf8)
  }
}
