import Configuration
import Foundation
import JournalStore
import LedgerEngine
import Simulator
import StrictJSON
import Support

/// One operation of the disk, or all from one on, fail under a running daemon; then the disk is
/// sound again, and all must be well without anybody's hand.
struct FaultTest: Sendable {
  let check: ImageCheck
  /// The notifications of every trial; the first ones are in the journal already.
  let bodies: [(uuid: String, body: [UInt8])]
  let known: Int
  let files: [String: Data]
  let authority: SimulatedAuthority

  /// A journal with some events, as a crash left it.
  init(known: Int = 3, of count: Int = 8) throws {
    let disk = try WatchedDisk()
    let bodies = try disk.sign(0..<count, customers: 3)
    try disk.prepare(Array(bodies[..<known]))
    self.bodies = disk.sent
    self.known = known
    files = try disk.installation.files()
    authority = disk.installation.authority
    let configuration = try Configuration.load(
      file: disk.installation.config.path, variables: [:], listen: nil, data: nil)
    let receiver = try Receiver(configuration)
    let received = try disk.sent.map {
      ($0.uuid, try receiver.receive(body: $0.body, at: Sample.start))
    }
    check = ImageCheck(
      configuration: configuration, received: Dictionary(uniqueKeysWithValues: received))
  }

  func disk() throws -> WatchedDisk { try WatchedDisk(authority, sent: bodies, files: files) }

  /// Those that were in the journal before.
  var before: [Int64: String] {
    Dictionary(
      uniqueKeysWithValues: bodies[..<known].enumerated().map {
        (Int64($0.offset + 1), $0.element.uuid)
      })
  }

  /// - Returns: whether the fault was met.
  func run(_ fault: WatchedDisk.Fault) throws -> Bool {
    let disk = try disk()
    disk.watch(tracing: false, fault)
    let command = try disk.installation.launch(
      ["serve", "--config", disk.installation.config.path])
    let end = Date(timeIntervalSinceNow: 20)
    var port: UInt16?
    while port == nil, command.isRunning, Date() < end {
      port = RunningDaemon.port(in: command.errorsSoFar())
      if port == nil { usleep(2_000) }
    }
    var taken = before
    var refused = 0
    if let port {
      let client = Client(port: port)
      for item in bodies.dropFirst(known - 1) {
        guard let answer = client.post(item.body) else {
          refused += 1
          break
        }
        try judge(answer, item.uuid, fault, &taken, &refused)
      }
      let row = Client(port: port).get("/v1/entitlements/900")
      guard row == nil || row?.status == 200 || row?.status == 503 else {
        throw Trouble("a read: \(row?.text ?? "")")
      }
    }
    command.signal(SIGTERM)
    let finished = try command.finish(within: 20)
    try judge(finished, fault, started: port != nil, refused: refused)
    let fired = disk.hasFired
    disk.unwatch()
    try check.run(DataFolder(path: disk.installation.data.path), answered: taken)
    return fired
  }

  private func judge(
    _ answer: Client.Answer, _ uuid: String, _ fault: WatchedDisk.Fault,
    _ taken: inout [Int64: String], _ refused: inout Int
  ) throws {
    if answer.status == 200, let seq = answer.json?["seq"]?.integer {
      guard taken[seq] == nil || taken[seq] == uuid else { throw Trouble("seq \(seq) twice") }
      taken[seq] = uuid
      return
    }
    // Without memory OpenSSL says no, and not why.
    let isUnproven = answer.status == 401 && fault.kind == "crypto"
    guard answer.status == 503 && answer.field("Retry-After") != nil || isUnproven else {
      throw Trouble("what is our fault was answered \(answer.status): \(answer.text)")
    }
    refused += 1
  }

  /// A daemon whose disk fails ends and says so; where it ends well, all was taken, or the disk was
  /// full.
  private func judge(
    _ finished: Finished, _ fault: WatchedDisk.Fault, started: Bool, refused: Int
  ) throws {
    // Without memory some libraries, and Swift itself, end the process at once, as a crash does.
    let mayCrash = ["crypto", "zstd"].contains(fault.kind)
    guard [0, 1, 2, 3].contains(finished.code) || mayCrash else {
      throw Trouble("it crashed: \(finished)")
    }
    if !started && finished.code == 0 { throw Trouble("no start, and no error: \(finished)") }
    if mayCrash { return }
    if fault.code == EIO, refused > 0, finished.code == 0 {
      throw Trouble("\(refused) refused on a failing disk, and it ended as if all was well")
    }
    if refused > 0 || finished.code != 0, finished.errors.isEmpty {
      throw Trouble("not a word about it: \(finished)")
    }
  }
}
