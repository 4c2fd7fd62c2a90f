import Foundation
import StrictJSON
import Support
import Synchronization
import Testing

/// A disk that takes for ever: nobody is told that something is kept, and everybody who asks is
/// told why; once it goes on, so does the daemon.
@Suite struct StuckDiskTests {
  @Test func aSyncThatDoesNotEnd() throws {
    let disk = try WatchedDisk()
    let bodies = try disk.sign(0..<2)
    disk.watch(tracing: false)
    let daemon = try disk.installation.start()
    let client = daemon.client()
    #expect(client.post(bodies[0])?.status == 200)
    try Data().write(to: disk.stuck)
    let late = Late()
    let port = daemon.port
    Thread.detachNewThread { late.set(Client(port: port).post(bodies[1])) }
    // It does so after ten seconds, and the client waits for twenty.
    try daemon.command.wait(18, "the daemon to say that it waits for the disk") {
      client.get("/readyz", token: nil)?.status == 503
    }
    let ready = client.get("/readyz", token: nil)
    #expect(ready?.json?["code"]?.string == "journal_stalled" && ready?.field("Retry-After") != nil)
    #expect(client.get("/healthz", token: nil)?.status == 200)
    #expect(client.get("/v1/entitlements/900")?.status == 200)
    #expect(late.answer == nil, "answered before the sync: promise 1")
    try FileManager.default.removeItem(at: disk.stuck)
    try daemon.command.wait(20, "the answer") { late.answer != nil }
    #expect(late.answer?.status == 200)
    #expect(client.get("/readyz", token: nil)?.status == 200)
    try daemon.stop()
  }

  private final class Late: Sendable {
    private let held = Mutex<Client.Answer?>(nil)
    var answer: Client.Answer? { held.withLock { $0 } }
    func set(_ answer: Client.Answer?) { held.withLock { $0 = answer } }
  }
}
