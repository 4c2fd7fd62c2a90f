import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// The daemon under limits on open files.
@Suite struct DescriptorTests {
  /// `serve` with this hard limit, and this soft limit if it is another.
  private func serve(
    _ installation: Installation, _ limit: Int, soft: Int? = nil
  ) throws -> RunningCommand {
    try RunningCommand(
      [
        "-c", "ulimit -Sn \(soft ?? limit) && ulimit -Hn \(limit) && exec \"$0\" \"$@\"",
        installation.program.path, "serve", "--config", installation.config.path,
      ], in: installation.folder, program: URL(filePath: "/bin/bash"))
  }

  /// What the daemon keeps for other files than connections.
  private let reserve = 128 + 32 * ProcessLimits.processors

  @Test func `under a limit of 16 to 64 open files the start is refused with a sentence`() throws {
    let installation = try Installation()
    for limit in 16...64 {
      let finished = try serve(installation, limit).finish()
      #expect(finished.code == 3, "\(limit): \(finished)")
      #expect(
        finished.errors.contains("this process may open \(limit) files, and needs at least"),
        "\(limit): \(finished)")
      #expect(finished.errors.contains("ulimit -n"), "\(limit): \(finished)")
    }
    #expect(!FileManager.default.fileExists(atPath: installation.journal.path))
  }

  @Test func `the soft limit is raised as far as is needed`() throws {
    let installation = try Installation()
    try installation.configure(with: [("limits", .object([("connections", .integer(100))]))])
    let command = try serve(installation, reserve + 200, soft: 16)
    try command.wait(60, "the daemon to listen") {
      RunningDaemon.port(in: command.errorsSoFar()) != nil
    }
    let limits = try String(contentsOfFile: "/proc/\(command.id)/limits", encoding: .utf8)
    let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
    #expect(line?.split(separator: " ").dropFirst(3).first == "\(reserve + 100)")
    #expect(!command.errorsSoFar().contains("few_descriptors"))
    command.signal(SIGTERM)
    #expect(try command.finish().code == 0)
  }

  /// Lets a daemon open no file whose number would be this or greater.
  private func limit(_ daemon: RunningDaemon, to number: Int) throws {
    let command = try RunningCommand(
      ["--pid", "\(daemon.command.id)", "--nofile=\(number):"],
      in: FileManager.default.temporaryDirectory, program: URL(filePath: "/usr/bin/prlimit"))
    #expect(try command.finish().code == 0)
  }

  @Test func `a daemon without a descriptor left answers, and goes on when there are some`() throws
  {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    #expect(client.get("/readyz", token: nil)?.status == 200)
    // Before any read was asked for: what it waits by is there.
    try limit(daemon, to: 3)
    for path in ["/v1/entitlements/7001", "/v1/entitlements", "/v1/events?wait=1", "/metrics"] {
      let status = client.get(path)?.status
      #expect([200, 404, 503].contains(status), "\(path)")
    }
    try limit(daemon, to: 1_024)
    #expect(client.post(try installation.sign(Sample.notification(1, otid: "7001")))?.status == 200)
    #expect(client.get("/v1/entitlements/7001")?.status == 200)
    #expect(try daemon.stop().code == 0)
  }

  @Test func `while connections use up the limit, reads and commands have descriptors`() throws {
    let installation = try Installation()
    let limit = reserve + 40
    let command = try serve(installation, limit)
    try command.wait(60, "the daemon to listen") {
      RunningDaemon.port(in: command.errorsSoFar()) != nil
    }
    #expect(command.errorsSoFar().contains("\"few_descriptors\",\"connections\":40,"))
    let port = try #require(RunningDaemon.port(in: command.errorsSoFar()))
    let clients = (0..<(limit + 50)).map { _ in Client(port: port) }
    // Each has its answer or a refusal; the first ones hold all places.
    let statuses = clients.map { $0.get("/healthz", token: nil)?.status }
    #expect(statuses.count { $0 == 200 } == 40)
    let body = try installation.sign(Sample.notification(1, otid: "7001"))
    let served = zip(clients, statuses).filter { $0.1 == 200 }.map(\.0)
    #expect(served[0].post(body)?.status == 200)
    for client in served { #expect(client.get("/v1/entitlements/7001")?.status == 200) }
    let file = try installation.file(
      "more.ndjson", [try installation.sign(Sample.notification(2, otid: "7002"))])
    let ingested = try installation.run("ingest", file)
    #expect(ingested.code == 0, "\(ingested)")
    #expect(served[1].get("/v1/entitlements/7002")?.status == 200)
    command.signal(SIGTERM)
    #expect(try command.finish().code == 0)
  }
}
