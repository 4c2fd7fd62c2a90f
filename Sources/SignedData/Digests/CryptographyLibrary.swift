import COpenSSL

/// The cryptographic library that was loaded at run time, OpenSSL's libcrypto.
public enum CryptographyLibrary {
  /// Its version, for example `3.0.17`.
  public static var version: String { String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }

  /// Keeps the library's state until the process is gone: by default `exit` frees it while threads
  /// may still use it. Call it before anything else of the library.
  ///
  /// Source: OPENSSL_init_crypto(3), OPENSSL_INIT_NO_ATEXIT.
  public static func keepUntilExit() {
    _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
  }
}
