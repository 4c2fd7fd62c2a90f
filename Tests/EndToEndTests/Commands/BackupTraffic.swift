import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Synchronization

/// Connections that post new notifications, and the answers.
final class BackupTraffic: Sendable {
  private static let connections = 3

  private struct State {
    var number = 0
    var bodies: [[UInt8]] = []
    var answered: [String: Int64] = [:]
  }

  private let state = Mutex(State())
  private let authority: SimulatedAuthority
  private let isOver = Flag()
  private let threads = DispatchGroup()

  private let pause: UInt32

  /// - Parameter pause: microseconds between an answer and the next post of a connection.
  init(_ installation: Installation, pause: UInt32) {
    authority = installation.authority
    self.pause = pause
  }

  /// Everything that was posted.
  var bodies: [[UInt8]] { state.withLock { $0.bodies } }
  /// The notifications that were answered with 200: uuid and seq.
  var answered: [String: Int64] { state.withLock { $0.answered.detachedCopy } }

  func start(_ port: UInt16) {
    for _ in 0..<Self.connections {
      threads.enter()
      Thread.detachNewThread {
        let client = Client(port: port)
        while !self.isOver.isSet, self.post(client) { usleep(self.pause) }
        self.threads.leave()
      }
    }
  }

  func end() {
    isOver.set()
    threads.wait()
  }

  /// Posts a new notification; each twentieth is of an app that is not configured.
  ///
  /// - Returns: false if the daemon does not answer.
  private func post(_ client: Client) -> Bool {
    let number = state.withLock { state in
      state.number += 1
      return state.number
    }
    let isForeign = number % 20 == 0
    let notification = Sample.notification(
      number, otid: "75\(number % 23)",
      bundleId: isForeign ? "com.example.alien" : "com.example.app")
    guard let body = try? authority.sign(notification: notification) else { return false }
    state.withLock { $0.bodies.append(body) }
    guard let answer = client.post(body) else { return false }
    if answer.status == 200, let seq = answer.json?["seq"]?.integer {
      state.withLock { $0.answered[Sample.uuid(number)] = seq }
    }
    return true
  }
}
