import Testing

@testable import Platform

/// An event that one thread waits for.
@Suite struct WakeupEventTests {
  private func isPending(_ event: WakeupEvent) throws -> Bool {
    var epoll = try Epoll.open(batch: 1)
    try epoll.add(event.descriptor, token: 7, .read)
    guard epoll.wait(milliseconds: 0) == 1 else { return false }
    let reported = epoll.event(at: 0)
    return reported.token == 7 && reported.readable
  }

  @Test func `a signal is pending until it is cleared`() throws {
    let event = WakeupEvent()
    #expect(try !isPending(event))
    event.signal()
    #expect(try isPending(event))
    event.clear()
    #expect(try !isPending(event))
    event.clear()
  }

  @Test func `wait clears all signals sent before it`() throws {
    let event = WakeupEvent()
    for _ in 0..<3 { event.signal() }
    event.wait()
    #expect(try !isPending(event))
  }

  @Test func `wait returns after the timeout without a signal`() throws {
    let event = WakeupEvent()
    event.wait(milliseconds: 0)
    event.wait(milliseconds: 1)
    #expect(try !isPending(event))
  }

  @Test func `without a descriptor a signal is pending until a wait or clear`() {
    let event = WakeupEvent(descriptor: -1)
    event.signal()
    event.signal()
    event.wait()
    event.wait(milliseconds: 1)
    event.signal()
    event.clear()
    event.wait(milliseconds: 0)
  }

  @Test(arguments: [false, true])
  func `a signal ends the wait of another thread`(hasDescriptors: Bool) throws {
    let (event, answer) =
      hasDescriptors
      ? (WakeupEvent(), WakeupEvent())
      : (WakeupEvent(descriptor: -1), WakeupEvent(descriptor: -1))
    let thread = try Thread.start("waits") {
      event.wait()
      answer.signal()
    }
    event.signal()
    answer.wait()
    thread.join()
    guard hasDescriptors else { return }
    #expect(try !isPending(event) && !isPending(answer))
  }
}
