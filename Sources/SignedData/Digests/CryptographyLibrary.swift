import COpenSSL

/// The cryptographic library that was loaded at run time, OpenSSL's libcrypto.
public enum CryptographyLibrary {
  /// Its version, for example `3.0.17`.
  public static var version: String { String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
