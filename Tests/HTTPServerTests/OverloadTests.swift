import HTTPServer
import Synchronization
import Testing

/// More work than there is time for: the excess is told at once, and what is taken is answered.
@Suite(.serialized) struct OverloadTests {
  @Test func aLineGrowsWithTheSpeedOfTheWork() {
    var line = AdmissionQueue<Int>(patience: 400_000, room: 1000)
    for _ in 0..<500 { line.note(3, took: 120_000) }
    // A mean of whole numbers stops a little above what it nears.
    let taken = (0..<100).prefix { line.join($0, bytes: 1, at: 0) }.count
    #expect((7...11).contains(taken))
    for place in 0..<taken {
      let next = line.next(at: 10)
      #expect(next?.item == place && next?.isLate == false)
    }
    #expect(line.isEmpty && line.next(at: 10) == nil)
    for _ in 0..<500 { line.note(1, took: 4_000) }
    let more = (0..<1000).prefix { line.join($0, bytes: 1, at: 0) }.count
    #expect(more > 19)
  }

  @Test func theFirstOneIsAlwaysLetIn() {
    var line = AdmissionQueue<String>(patience: 1, room: 1)
    for _ in 0..<500 { line.note(1, took: 1_000_000_000) }
    #expect(line.join("however long", bytes: 1000, at: 0) == true)
    #expect(line.join("behind it", bytes: 0, at: 0) == false)
    #expect(line.next(at: 0)?.item == "however long")
    #expect(line.join("again", bytes: 1000, at: 0) == true)
  }

  @Test func bodiesHaveRoomTogether() {
    var line = AdmissionQueue<Int>(patience: 1_000_000_000_000, room: 100)
    #expect(line.join(1, bytes: 60, at: 0) == true)
    #expect(line.join(2, bytes: 41, at: 0) == false)
    #expect(line.join(3, bytes: 40, at: 0) == true)
    #expect(line.next(at: 0)?.item == 1)
    #expect(line.join(4, bytes: 60, at: 0) == true)
    #expect(line.count == 2 && line.next(at: 0)?.item == 3 && line.next(at: 0)?.item == 4)
  }

  @Test func whoWaitedTooLongIsNotBegun() {
    var line = AdmissionQueue<Int>(patience: 100_000_000, room: 100)
    for place in 0..<60 { _ = line.join(place, bytes: 0, at: Int64(place)) }
    #expect(line.count == 60)
    #expect(line.next(at: 200_000_000)?.isLate == false)
    for _ in 0..<33 { #expect(line.next(at: 300_000_000)?.isLate == true) }
    // Of those that are left each is begun: there are few.
    for _ in 0..<26 { #expect(line.next(at: 300_000_000)?.isLate == false) }
    #expect(line.isEmpty)
  }

  /// One that took long by chance closes the line for nobody.
  @Test func oneSlowOneIsNoOverload() {
    var line = AdmissionQueue<Int>(patience: 400_000_000, room: 100)
    for _ in 0..<500 { line.note(1, took: 400_000) }
    line.note(1, took: 5_000_000_000)
    for place in 0..<64 { _ = line.join(place, bytes: 0, at: 0) }
    #expect(line.count == 64)
  }

  /// Sixty requests of 20 ms each where only 0.1 s may be waited: some are answered, the others are
  /// told to come again, nobody is lost, and after it all is as before.
  @Test func theExcessIsToldToComeAgain() throws {
    let echoes = try EchoServer(reactors: 1) {
      $0.limits.waitSeconds = 0.1
      $0.limits.freeWaiters = 1
    }
    let callers = (0..<60).map { _ in echoes.caller() }
    for round in 0..<2 {
      for caller in callers { caller.say(echo("x", path: "/work")) }
      let answers = callers.compactMap { $0.answer() }
      let refused = answers.filter { $0.status == 503 }
      #expect(answers.count == 60, "round \(round)")
      #expect(answers.contains { $0.status == 200 && $0.body == "x" })
      #expect(!refused.isEmpty && answers.allSatisfy { [200, 503].contains($0.status) })
      #expect(refused.allSatisfy { $0.head.contains("Retry-After: ") })
      #expect(refused.allSatisfy { !$0.head.contains("Connection: close") })
    }
    for caller in callers {
      caller.say(echo("after it", path: "/work"))
      #expect(caller.answer()?.body == "after it")
    }
    echoes.server.drain(within: 5)
    #expect(echoes.notes.open.load(ordering: .relaxed) == 0)
  }

  /// What is no long work does not wait behind it.
  @Test func othersPassTheLine() throws {
    let echoes = try EchoServer(reactors: 1) { $0.limits.waitSeconds = 60 }
    let callers = (0..<20).map { _ in echoes.caller() }
    let quick = echoes.caller()
    callers[0].say(echo("gate", path: "/gate"))
    for caller in callers.dropFirst() { caller.say(echo("long", path: "/work")) }
    quick.say(echo("quick"))
    echoes.notes.isGateOpen.store(true, ordering: .relaxed)
    #expect(quick.answer()?.body == "quick")
    for caller in callers { #expect(caller.answer()?.status == 200) }
    #expect(echoes.notes.bodies.withLock { $0.firstIndex(of: "quick") } ?? 20 < 10)
    echoes.server.drain(within: 5)
  }

  /// A client that went away while it waited is not worked for, and nothing of it stays.
  @Test func whoLeavesIsForgotten() throws {
    let echoes = try EchoServer(reactors: 1) { $0.limits.waitSeconds = 60 }
    let callers = (0..<40).map { _ in echoes.caller() }
    for caller in callers { caller.say(echo("x", path: "/work")) }
    for caller in callers.dropFirst() { caller.reset() }
    #expect(callers[0].answer()?.body == "x")
    callers[0].say(echo("y", path: "/work"))
    #expect(callers[0].answer()?.body == "y")
    #expect(echoes.notes.served.load(ordering: .relaxed) <= 41)
    // Or it is closed as soon as it was used last.
    withExtendedLifetime(callers) {
      #expect(echoes.notes.open.load(ordering: .relaxed) == 1)
    }
    echoes.server.drain(within: 5)
  }
}
