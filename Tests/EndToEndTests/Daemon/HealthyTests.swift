import Foundation
import StrictJSON
import Support
import Testing

/// `healthy`, which health checks of containers run.
@Suite struct HealthyTests {
  @Test func `healthy is 0 while the daemon takes notifications, else 1 with the reason`() throws {
    let installation = try Installation()
    let before = try installation.run("healthy")
    #expect(before.code == 1 && before.errors.contains("subledger serve"), "\(before)")
    let daemon = try installation.start()
    let during = try installation.run("healthy")
    #expect(during.code == 0 && during.output == "healthy\n" && during.errors.isEmpty)
    _ = try daemon.stop()
    #expect(try installation.run("healthy").code == 1)
    try installation.configure(with: [
      ("limits", .object([("diskBytes", .integer(1_000_000_000_000_000))]))
    ])
    let full = try installation.start()
    let refused = try installation.run("healthy")
    #expect(refused.code == 1 && refused.errors.contains("disk"), "\(refused)")
    _ = try full.stop()
  }

  @Test func `a daemon that does not answer is unhealthy within seconds`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    daemon.command.signal(SIGSTOP)
    let began = Date()
    let stopped = try installation.run("healthy")
    daemon.command.signal(SIGCONT)
    #expect(stopped.code == 1, "\(stopped)")
    #expect(Date().timeIntervalSince(began) < 10 * RunningCommand.waitFactor)
    _ = try daemon.stop()
  }

  @Test func `a configuration that was broken since is no reason, and neither ends with 2`() throws
  {
    let installation = try Installation()
    let daemon = try installation.start()
    try installation.configure(with: [("no_such_key", .integer(1))])
    #expect(try installation.run("healthy").code == 0)
    try Data("{".utf8).write(to: installation.config)
    #expect(try installation.run("healthy").code == 1)
    _ = try daemon.stop()
  }
}
