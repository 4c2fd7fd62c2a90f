#ifndef SUBLEDGER_CCURL_SHIM_H
#define SUBLEDGER_CCURL_SHIM_H

#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt take an argument of any type, which
   Swift does not import: one function for each type. */
static inline CURLcode subledger_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode subledger_set_text(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode subledger_set_list(
    CURL *handle, CURLoption option, struct curl_slist *list) {
  return curl_easy_setopt(handle, option, list);
}
/* curl copies the body. */
static inline CURLcode subledger_set_body(CURL *handle, const void *bytes, long count) {
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
  return curl_easy_setopt(handle, CURLOPT_COPYPOSTFIELDS, bytes);
}
typedef size_t (*subledger_receiver)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode subledger_set_receivers(
    CURL *handle, subledger_receiver head, subledger_receiver body, void *context) {
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, head);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, body);
  return curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
}
typedef CURLcode (*subledger_tls_begin)(CURL *handle, void *settings, void *context);
static inline CURLcode subledger_set_tls_begin(
    CURL *handle, subledger_tls_begin begin, void *context) {
  curl_easy_setopt(handle, CURLOPT_SSL_CTX_DATA, context);
  return curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, begin);
}
/* curl asks for a socket with the address that it will connect to (CURLOPT_OPENSOCKETFUNCTION(3)).
   The callback says whether it may; the socket is the one that curl itself would open. */
typedef int (*subledger_address_judge)(const unsigned char *address, int count, void *context);
struct subledger_judged { subledger_address_judge judge; void *context; };
static inline curl_socket_t subledger_open_socket(
    void *context, curlsocktype purpose, struct curl_sockaddr *to) {
  const struct subledger_judged *judged = context;
  const unsigned char *bytes = 0;
  int count = 0;
  (void)purpose;
  if (to->family == AF_INET) {
    bytes = (const unsigned char *)&((const struct sockaddr_in *)&to->addr)->sin_addr;
    count = 4;
  } else if (to->family == AF_INET6) {
    bytes = (const unsigned char *)&((const struct sockaddr_in6 *)&to->addr)->sin6_addr;
    count = 16;
  }
  if (count == 0 || !judged->judge(bytes, count, judged->context)) return CURL_SOCKET_BAD;
  return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}
static inline CURLcode subledger_set_judge(CURL *handle, const struct subledger_judged *judged) {
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, judged);
  return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, subledger_open_socket);
}
static inline long subledger_get_number(CURL *handle, CURLINFO info) {
  long value = 0;
  curl_easy_getinfo(handle, info, &value);
  return value;
}
/* In microseconds; 0 if that point was not reached. */
static inline long subledger_get_time(CURL *handle, CURLINFO info) {
  curl_off_t value = 0;
  curl_easy_getinfo(handle, info, &value);
  return (long)value;
}
static inline CURLMcode subledger_set_multi_number(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

/* A macro of a cast, which Swift does not import. */
static inline CURLcode subledger_curl_init(void) { return curl_global_init(CURL_GLOBAL_ALL); }

#endif
