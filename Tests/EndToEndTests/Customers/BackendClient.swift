import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct Customer: Decodable {
  struct Change: Decodable { let at: Double, active: Bool }
  struct Entitlement: Decodable { let active: Bool, next: Change? }
  let known: Bool, entitlements: [String: Entitlement]
}
/// What users may use, as Subledger says; remembers the last answer for each user.
actor Entitlements {
  var base: URL, timeout = 0.3, last: [String: (asked: Date, customer: Customer)] = [:]
  let token: String, seconds: Double
  init(base: URL, token: String, seconds: Double = 60) {
    (self.base, self.token, self.seconds) = (base, token, seconds)
  }
  func ask(_ user: String) async throws -> Customer? {
    var request = URLRequest(url: base.appending(path: "v1/customers/\(user)"))
    request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
    let asking = Task { [request] in try await URLSession.shared.data(for: request) }
    DispatchQueue.global().asyncAfter(deadline: .now() + timeout) { asking.cancel() }
    guard let (data, response) = try? await asking.value else { return nil }
    let status = (response as? HTTPURLResponse)?.statusCode ?? 503
    if (400..<500).contains(status) { throw URLError(.badURL) }  // our mistake
    return status == 200 ? try JSONDecoder().decode(Customer.self, from: data) : nil
  }
  func has(_ user: String, _ name: String) async throws -> Bool? {
    if Date() >= (last[user]?.asked ?? .distantPast) + seconds, let found = try await ask(user) {
      last[user] = (Date(), found)
    }
    guard let customer = last[user]?.customer else { throw URLError(.badServerResponse) }
    guard customer.known, let found = customer.entitlements[name] else { return nil }
    if let next = found.next, Date().timeIntervalSince1970 * 1000 >= next.at { return next.active }
    return found.active
  }
}
