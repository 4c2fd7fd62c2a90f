import COpenSSL

/// Finds wrong signatures under an authority's P-384 key in less than half of OpenSSL's time.
///
/// Anyone can send certificates that an authority did not sign. OpenSSL 3.0 has no fast code for
/// P-384: a verification takes 660 µs, more than two genuine notifications. ECDSA (FIPS 186-5
/// section 6.4.2) computes u₁G + u₂Q. For the generator G of a curve OpenSSL can make a table of
/// multiples (EC_GROUP_precompute_mult(3)). The key Q becomes the generator of a second group and
/// gets the same kind of table, as in `KeyTable`.
///
/// It only ever refuses: what it lets pass, OpenSSL verifies as before. So an error in this class
/// cannot let a forged certificate in (promise 3).
///
/// A signature takes 280 µs. Making the tables takes 2.4 ms and 300 KB. For one thread only.
final class SignatureFilter {
  /// Wrong signatures after which the tables would have saved the time that making them takes:
  /// 2.4 ms, at 380 µs each. Without wrong signatures there are no tables.
  static let breakEven = 6

  /// Both are the same curve: one with its own generator G, one with the key Q as its generator.
  private let curve = EC_GROUP_new_by_curve_name(NID_secp384r1)
  private let group: OpaquePointer?
  private let key: OpaquePointer?
  private let term: OpaquePointer?
  private let sum: OpaquePointer?
  private let numbers = BN_CTX_new()

  /// Makes the tables for an uncompressed point (SEC 1 section 2.3.3). Returns nil if it is not on
  /// P-384, or OpenSSL makes no tables.
  init?(_ point: ArraySlice<UInt8>) {
    group = EC_GROUP_dup(curve)
    key = EC_POINT_new(curve)
    term = EC_POINT_new(curve)
    sum = EC_POINT_new(curve)
    guard curve != nil, group != nil, key != nil, term != nil, sum != nil, numbers != nil,
      point.count == 97,
      point.withUnsafeBufferPointer({ bytes in
        EC_POINT_oct2point(curve, key, bytes.baseAddress, bytes.count, numbers) == 1
      }),
      EC_GROUP_set_generator(
        group, key, EC_GROUP_get0_order(curve), EC_GROUP_get0_cofactor(curve)) == 1,
      subledger_precompute_multiples(curve, numbers) == 1,
      subledger_precompute_multiples(group, numbers) == 1
    else {
      ERR_clear_error()
      return nil
    }
  }

  deinit {
    BN_CTX_free(numbers)
    EC_POINT_free(sum)
    EC_POINT_free(term)
    EC_POINT_free(key)
    EC_GROUP_free(group)
    EC_GROUP_free(curve)
  }

  /// Whether `signature`, an ECDSA-Sig-Value in DER (RFC 3279 section 2.2.3), is certainly wrong
  /// for a digest. False when it is right, when its numbers are out of range, and when a
  /// computation failed.
  func refuses(_ signature: ArraySlice<UInt8>, over digest: [UInt8]) -> Bool {
    let parsed = signature.withUnsafeBufferPointer { bytes in
      var cursor = bytes.baseAddress
      return d2i_ECDSA_SIG(nil, &cursor, bytes.count)
    }
    BN_CTX_start(numbers)
    defer {
      BN_CTX_end(numbers)
      ECDSA_SIG_free(parsed)
      ERR_clear_error()
    }
    guard let parsed, let r = ECDSA_SIG_get0_r(parsed), let s = ECDSA_SIG_get0_s(parsed),
      isScalar(r), isScalar(s), let e = BN_CTX_get(numbers), let x = BN_CTX_get(numbers),
      // The leftmost bits of the digest, as many as the order has.
      BN_bin2bn(digest, Int32(min(digest.count, 48)), e) != nil, add(e, r, s),
      EC_POINT_get_affine_coordinates(curve, sum, x, nil, numbers) == 1,
      BN_nnmod(x, x, order, numbers) == 1
    else { return false }
    return BN_cmp(x, r) != 0
  }

  private var order: OpaquePointer? { EC_GROUP_get0_order(curve) }

  /// Whether a number is at least 1 and less than the order.
  private func isScalar(_ number: OpaquePointer) -> Bool {
    BN_is_zero(number) == 0 && BN_is_negative(number) == 0 && BN_cmp(number, order) < 0
  }

  /// Sets `sum` to e/s · G + r/s · Q, as (e/s · G + Q) + (r/s - 1) · Q.
  ///
  /// OpenSSL multiplies a generator alone in constant time, without the table, which is for
  /// private numbers. It uses the table when a second point is added.
  private func add(_ e: OpaquePointer, _ r: OpaquePointer, _ s: OpaquePointer) -> Bool {
    guard let scalar = BN_CTX_get(numbers), let inverse = BN_CTX_get(numbers),
      BN_mod_inverse(inverse, s, order, numbers) != nil
    else { return false }
    return BN_mod_mul(scalar, e, inverse, order, numbers) == 1
      && EC_POINT_mul(curve, term, scalar, key, BN_value_one(), numbers) == 1
      && BN_mod_mul(scalar, r, inverse, order, numbers) == 1
      && BN_mod_sub(scalar, scalar, BN_value_one(), order, numbers) == 1
      && EC_POINT_mul(group, sum, scalar, term, BN_value_one(), numbers) == 1
  }
}
