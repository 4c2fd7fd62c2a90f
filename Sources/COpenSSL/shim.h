#ifndef SUBLEDGER_COPENSSL_SHIM_H
#define SUBLEDGER_COPENSSL_SHIM_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/opensslv.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* The stack functions are macros, which Swift does not import. */
static inline STACK_OF(X509) *subledger_certificates_new(void) { return sk_X509_new_null(); }
static inline int subledger_certificates_push(STACK_OF(X509) *stack, X509 *certificate) {
  return sk_X509_push(stack, certificate);
}
static inline int subledger_certificates_count(const STACK_OF(X509) *stack) {
  return sk_X509_num(stack);
}
/* Frees the stack, not the certificates. */
static inline void subledger_certificates_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }

/* Both are deprecated since OpenSSL 3.0: EC_GROUP_precompute_mult without a replacement,
   EC_POINT_get_Jprojective_coordinates_GFp in favour of affine coordinates, which need a
   division. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
static inline int subledger_precompute_multiples(EC_GROUP *group, BN_CTX *context) {
  return EC_GROUP_precompute_mult(group, context);
}
static inline int subledger_get_projective(
    const EC_GROUP *group, const EC_POINT *point, BIGNUM *x, BIGNUM *z, BN_CTX *context) {
  return EC_POINT_get_Jprojective_coordinates_GFp(group, point, x, NULL, z, context);
}
#pragma clang diagnostic pop

#endif
