import Clients
import Platform

extension LedgerError.Code {
  /// Apple gave no usable answer; the number is Apple's code, or 0.
  static let appStore = Self("app_store")
  /// Apple refuses the key.
  static let unauthorized = Self("app_store_unauthorized")
}

extension LedgerError {
  init(_ error: AppStoreError) {
    let code: Code =
      switch error.reason {
      case .cancelled: .stopped
      case .unauthorized: .unauthorized
      default: .appStore
      }
    self.init(
      code, .temporary, code == .stopped ? "stopped" : error.description,
      number: Int32(clamping: error.code?.rawValue ?? 0))
  }
}
