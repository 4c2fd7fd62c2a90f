import COpenSSL

/// The library that verifies, as loaded at run time.
public enum CryptographyLibrary {
  public static var version: String { String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
