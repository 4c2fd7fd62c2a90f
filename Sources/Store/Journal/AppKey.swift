import AppStore

/// An app in one environment: a row of the tables `app`, as a key of caches.
struct AppKey: Hashable {
  let environment: Environment
  let bundleId: String
}

extension AppKey {
  init(_ key: StreamKey) { self.init(environment: key.environment, bundleId: key.bundleId) }
}
