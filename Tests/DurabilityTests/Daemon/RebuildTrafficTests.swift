import Foundation
import StrictJSON
import Support
import Testing

/// Projections are built, switched and removed while clients read and post. No row is missing,
/// incomplete or older than before, and nothing that was answered is lost (promises 1, 4, 7).
@Suite(.serialized) struct RebuildTrafficTests {
  private static let rebuilds = TestCount.rebuilds.number
  private static let kills = TestCount.rebuildKills.number

  /// Checks that everything that was answered is journaled once, at the seq that was answered, and
  /// that the projection follows from the journal.
  ///
  /// - Parameter isAfterCrash: whether the projection may be behind the journal until a daemon
  ///   starts.
  private func check(
    _ installation: Installation, _ traffic: ProjectionTraffic, isAfterCrash: Bool = false
  ) throws {
    #expect(traffic.violations == [])
    let events = try installation.events()
    let seqs = Dictionary(
      grouping: events.compactMap { event in
        event["notification_uuid"]?.string.map { ($0, event["seq"]?.integer ?? 0) }
      }, by: \.0)
    for (uuid, seq) in traffic.answered {
      #expect(seqs[uuid]?.map(\.1) == [seq], "answered \(uuid) as \(seq)")
    }
    let (code, report) = try installation.verify()
    #expect(code == 0, "\(report.value.text)")
    // A crash may have suppressed an answer, so the journal may have more customers.
    let customers = Set(events.compactMap { $0["original_transaction_id"]?.string })
    #expect(customers.isSuperset(of: traffic.customers))
    guard !isAfterCrash else { return }
    #expect(report["rows"]?.integer == Int64(customers.count))
    let fresh = try installation.run("rebuild", "--json")
    #expect(fresh.code == 0, "\(fresh)")
    #expect(try fresh.lines().last?["digest"]?.string == report["digest"]?.string)
  }

  private func rebuild(_ installation: Installation, _ arguments: [String]) throws {
    let done = try installation.launch(
      ["rebuild"] + arguments + ["--config", installation.config.path]
    ).finish(within: 300)
    #expect(done.code == 0, "\(arguments): \(done)")
  }

  /// Reads with the command, as an operator does, while the files are replaced.
  private func readBeside(
    _ installation: Installation, _ traffic: ProjectionTraffic, until isOver: Flag
  ) -> DispatchGroup {
    let (done, config, folder) = (DispatchGroup(), installation.config.path, installation.folder)
    done.enter()
    Thread.detachNewThread {
      while !isOver.isSet {
        guard let customer = traffic.customers.randomElement() else { continue }
        let row = try? RunningCommand(
          ["entitlement", customer, "--json", "--config", config], in: folder
        ).finish()
        if row?.code != 0 { Issue.record("\(customer) by the command: \(String(describing: row))") }
        usleep(300_000)
      }
      done.leave()
    }
    return done
  }

  @Test func `rebuilds beside posts and reads violate no guarantee`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let traffic = ProjectionTraffic(installation)
    let isOver = Flag()
    traffic.start(daemon.port)
    try daemon.command.wait(60, "customers") { traffic.customers.count > 100 }
    let beside = readBeside(installation, traffic, until: isOver)
    defer {
      isOver.set()
      beside.wait()
      traffic.end()
    }
    let commands = [["--diff"], ["--only", "610"], []]
    let began = Date()
    for round in 0..<Self.rebuilds {
      try rebuild(installation, ["--apply", "--threads", "\(1 + round % 3)"])
      try rebuild(installation, commands[round % commands.count])
      guard traffic.violations.isEmpty else { break }
    }
    let spent = Date().timeIntervalSince(began)
    isOver.set()
    beside.wait()
    traffic.end()
    #expect(try daemon.stop().code == 0)
    try check(installation, traffic)
    print(
      "\(Self.rebuilds) rebuilds in \(Int(spent)) s beside \(traffic.answered.count) events and "
        + "\(traffic.reads) reads of \(traffic.customers.count) customers")
  }

  /// Kills a rebuild while it folds, after a time in microseconds.
  private func killRebuild(_ installation: Installation, after time: UInt32) throws {
    let rebuild = try installation.launch(["rebuild", "--config", installation.config.path])
    usleep(time)
    rebuild.signal(SIGKILL)
    try rebuild.finish()
  }

  @Test func `killed rebuilds and daemons lose nothing`() throws {
    let installation = try Installation()
    for round in 1...max(1, Self.kills) {
      let traffic = try continuedTraffic(installation, round)
      let daemon = try installation.start()
      traffic.start(daemon.port)
      try daemon.command.wait(60, "customers") { traffic.customers.count > 100 }
      try killRebuild(installation, after: .random(in: 20_000...300_000))
      try rebuild(installation, ["--apply"])
      try killRebuild(installation, after: .random(in: 20_000...300_000))
      #expect(traffic.violations == [])
      let apply = try installation.launch([
        "rebuild", "--apply", "--config", installation.config.path,
      ])
      usleep(.random(in: 20_000...400_000))
      try daemon.crash()
      _ = try apply.finish()
      traffic.waitForEnd()
      try check(installation, traffic, isAfterCrash: true)
      let again = try installation.start()
      for customer in traffic.customers {
        #expect(again.client().get("/v1/entitlements/\(customer)")?.status == 200)
      }
      try rebuild(installation, ["--apply"])
      #expect(try again.stop().code == 0)
      try check(installation, traffic)
    }
  }

  /// Traffic that continues with the customers and the answers of the round before.
  private func continuedTraffic(_ installation: Installation, _ round: Int) throws
    -> ProjectionTraffic
  {
    let traffic = ProjectionTraffic(installation, firstNumber: round * 100_000)
    for event in try round == 1 ? [] : installation.events() {
      if let uuid = event["notification_uuid"]?.string, let seq = event["seq"]?.integer,
        let customer = event["original_transaction_id"]?.string
      {
        traffic.recordAnswered(uuid, seq, of: customer)
      }
    }
    return traffic
  }
}
