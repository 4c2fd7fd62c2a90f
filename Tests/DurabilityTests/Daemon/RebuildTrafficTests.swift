import Foundation
import StrictJSON
import Support
import Testing

/// Rows are built, switched, switched back and pruned while everybody reads and posts: nobody sees
/// a row missing, half, or older than before, and nothing answered is gone (promises 1, 4, 7).
@Suite(.serialized) struct RebuildTrafficTests {
  private static func number(_ name: String, or usual: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
  }

  /// SUBLEDGER_REBUILDS and SUBLEDGER_REBUILD_KILLS ask for more.
  private static let rebuilds = number("SUBLEDGER_REBUILDS", or: 4)
  private static let kills = number("SUBLEDGER_REBUILD_KILLS", or: 1)

  /// All that was answered is there once, at the place that was answered, and the rows follow.
  ///
  /// - Parameter isAfterCrash: rows may then lag behind the journal, until a daemon starts.
  private func check(
    _ installation: Installation, _ traffic: ProjectionTraffic, isAfterCrash: Bool = false
  ) throws {
    #expect(traffic.troubles == [])
    let events = try installation.events()
    let places = Dictionary(
      grouping: events.compactMap { event in
        event["notification_uuid"]?.string.map { ($0, event["seq"]?.integer ?? 0) }
      }, by: \.0)
    for (uuid, seq) in traffic.answered {
      #expect(places[uuid]?.map(\.1) == [seq], "answered \(uuid) as \(seq)")
    }
    let (code, report) = try installation.verify()
    #expect(code == 0, "\(report.value.text)")
    // A crash may have kept an answer back, but not the customer it was about.
    let customers = Set(events.compactMap { $0["original_transaction_id"]?.string })
    #expect(customers.isSuperset(of: traffic.customers))
    guard !isAfterCrash else { return }
    #expect(report["rows"]?.integer == Int64(customers.count))
    let fresh = try installation.run("rebuild", "--json")
    #expect(fresh.code == 0, "\(fresh)")
    #expect(try fresh.lines().last?["digest"]?.string == report["digest"]?.string)
  }

  private func order(_ installation: Installation, _ words: [String]) throws {
    let done = try installation.launch(
      ["rebuild"] + words + ["--config", installation.config.path]
    ).finish(within: 300)
    #expect(done.code == 0, "\(words): \(done)")
  }

  /// Reads by the files alone, as an operator does, while they are replaced.
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
        if row?.code != 0 { Issue.record("\(customer) by the files: \(String(describing: row))") }
        usleep(300_000)
      }
      done.leave()
    }
    return done
  }

  @Test func rebuildsBesidePostsAndReads() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let traffic = ProjectionTraffic(installation)
    let isOver = Flag()
    traffic.start(daemon.port)
    try daemon.command.wait(20, "customers") { traffic.customers.count > 100 }
    let beside = readBeside(installation, traffic, until: isOver)
    defer {
      isOver.set()
      beside.wait()
      traffic.end()
    }
    let before = [
      ["--diff"], ["--only", "610"], ["--rollback"], ["--prune", "--keep", "1"], ["--rollback"], [],
      ["--prune"], ["--list"],
    ]
    let began = Date()
    for round in 0..<Self.rebuilds {
      try order(installation, ["--apply", "--threads", "\(1 + round % 3)"])
      try order(installation, before[round % before.count])
      if round % 8 == 4 { try order(installation, ["--rollback"]) }
      guard traffic.troubles.isEmpty else { break }
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

  /// Kills a rebuild while it folds.
  private func killRebuild(_ installation: Installation, after time: UInt32) throws {
    let rebuild = try installation.launch(["rebuild", "--config", installation.config.path])
    usleep(time)
    rebuild.signal(SIGKILL)
    try rebuild.finish()
  }

  @Test func killedRebuildsAndDaemons() throws {
    let installation = try Installation()
    for round in 1...max(1, Self.kills) {
      let traffic = try besideTraffic(installation, round)
      let daemon = try installation.start()
      traffic.start(daemon.port)
      try daemon.command.wait(30, "customers") { traffic.customers.count > 100 }
      try killRebuild(installation, after: .random(in: 20_000...300_000))
      try order(installation, ["--apply"])
      try order(installation, ["--rollback"])
      try killRebuild(installation, after: .random(in: 20_000...300_000))
      #expect(traffic.troubles == [])
      let apply = try installation.launch([
        "rebuild", round % 2 == 0 ? "--rollback" : "--apply", "--config", installation.config.path,
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
      try order(installation, ["--apply"])
      #expect(try again.stop().code == 0)
      try check(installation, traffic)
    }
  }

  /// Every round goes on with the customers and the answers of the one before.
  private func besideTraffic(_ installation: Installation, _ round: Int) throws -> ProjectionTraffic
  {
    let traffic = ProjectionTraffic(installation, firstNumber: round * 100_000)
    for event in try round == 1 ? [] : installation.events() {
      if let uuid = event["notification_uuid"]?.string, let seq = event["seq"]?.integer,
        let customer = event["original_transaction_id"]?.string
      {
        traffic.know(uuid, seq, of: customer)
      }
    }
    return traffic
  }
}
