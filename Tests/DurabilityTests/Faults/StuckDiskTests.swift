import Foundation
import StrictJSON
import Support
import Synchronization
import Testing

/// A disk whose sync does not return: no event is acknowledged, and `/readyz` tells why. Once the
/// sync returns, the daemon continues.
@Suite struct StuckDiskTests {
  @Test func `a sync that does not return is not acknowledged`() throws {
    let disk = try InterceptedDisk()
    let bodies = try disk.sign(0..<2)
    disk.intercept(tracing: false)
    let daemon = try disk.installation.start()
    let client = daemon.client()
    #expect(client.post(bodies[0])?.status == 200)
    try Data().write(to: disk.stuck)
    let pending = PendingAnswer()
    let port = daemon.port
    Thread.detachNewThread { pending.set(Client(port: port).post(bodies[1])) }
    // It reports this after ten seconds, and the client waits for twenty.
    try daemon.command.wait(18, "the daemon to say that it waits for the disk") {
      client.get("/readyz", token: nil)?.status == 503
    }
    let ready = client.get("/readyz", token: nil)
    #expect(ready?.json?["code"]?.string == "journal_stalled" && ready?.field("Retry-After") != nil)
    #expect(client.get("/healthz", token: nil)?.status == 200)
    #expect(client.get("/v1/entitlements/900")?.status == 200)
    #expect(pending.answer == nil, "answered before the sync: promise 1")
    try FileManager.default.removeItem(at: disk.stuck)
    try daemon.command.wait(60, "the answer") { pending.answer != nil }
    #expect(pending.answer?.status == 200)
    #expect(client.get("/readyz", token: nil)?.status == 200)
    try daemon.stop()
  }

  private final class PendingAnswer: Sendable {
    private let state = Mutex<Client.Answer?>(nil)
    var answer: Client.Answer? { state.withLock { $0 } }
    func set(_ answer: Client.Answer?) { state.withLock { $0 = answer } }
  }
}
