import AppStore
import Testing

/// Types that stand for a name are printed as that name, in messages and in paths.
@Suite struct NameTests {
  @Test func `environments and sources are printed as they are written`() {
    #expect("\(Environment.production) \(Environment.sandbox)" == "Production Sandbox")
    #expect("\(EventSource.v2) \(EventSource.v1)" == "v2 v1")
  }
}
