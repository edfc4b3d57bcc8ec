#pragma once
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <tss2/tss2_esys.h>
#include <tss2/tss2_mu.h>
#include <tss2/tss2_tctildr.h>

// Macros with casts, which Swift does not import.
static const ESYS_TR LIQUID_TR_NONE = ESYS_TR_NONE;
static const ESYS_TR LIQUID_TR_OWNER = ESYS_TR_RH_OWNER, LIQUID_TR_PASSWORD = ESYS_TR_PASSWORD;
static const TPM2_SE LIQUID_SE_HMAC = TPM2_SE_HMAC, LIQUID_SE_POLICY = TPM2_SE_POLICY, LIQUID_SE_TRIAL = TPM2_SE_TRIAL;
static const TPMA_SESSION LIQUID_SESSION_CONTINUE = TPMA_SESSION_CONTINUESESSION;
// DECRYPT encrypts the first parameter of the command, and ENCRYPT that of the answer.
static const TPMA_SESSION LIQUID_SESSION_DECRYPT = TPMA_SESSION_DECRYPT, LIQUID_SESSION_ENCRYPT = TPMA_SESSION_ENCRYPT;
static const TPM2_ALG_ID LIQUID_ALG_SHA256 = TPM2_ALG_SHA256;
static const TPM2_PT LIQUID_PT_PERMANENT = TPM2_PT_PERMANENT, LIQUID_PT_LOCKOUT_INTERVAL = TPM2_PT_LOCKOUT_INTERVAL;
static const TPMA_PERMANENT LIQUID_PERMANENT_INLOCKOUT = TPMA_PERMANENT_INLOCKOUT;

// The response codes of the TPM that have a message of their own, without the number of the handle, session or parameter
// (TPM 2.0 Library, Part 2, §6.6).
enum liquid_tpm_result {
  LIQUID_TPM_OTHER,
  LIQUID_TPM_AUTH_FAIL,
  LIQUID_TPM_BAD_AUTH,
  LIQUID_TPM_POLICY_FAIL,
  LIQUID_TPM_INTEGRITY,
  LIQUID_TPM_LOCKOUT,
  LIQUID_TPM_PCR_CHANGED,
  // There is no object or NV index with this handle.
  LIQUID_TPM_NO_HANDLE,
  LIQUID_TPM_NV_DEFINED,
  LIQUID_TPM_NV_SPACE,
};

static inline enum liquid_tpm_result liquid_tpm_result(TSS2_RC result) {
  const TSS2_RC layer = result & TSS2_RC_LAYER_MASK;
  if (layer != 0 && layer != TSS2_RESMGR_TPM_RC_LAYER) return LIQUID_TPM_OTHER;
  const TPM2_RC code = result & ~TSS2_RC_LAYER_MASK;
  switch (code & TPM2_RC_FMT1 ? code & (TPM2_RC_FMT1 | 0x3F) : code) {
  case TPM2_RC_AUTH_FAIL: return LIQUID_TPM_AUTH_FAIL;
  case TPM2_RC_BAD_AUTH: return LIQUID_TPM_BAD_AUTH;
  case TPM2_RC_POLICY_FAIL: return LIQUID_TPM_POLICY_FAIL;
  case TPM2_RC_INTEGRITY: return LIQUID_TPM_INTEGRITY;
  case TPM2_RC_LOCKOUT: return LIQUID_TPM_LOCKOUT;
  case TPM2_RC_PCR_CHANGED: return LIQUID_TPM_PCR_CHANGED;
  case TPM2_RC_HANDLE: return LIQUID_TPM_NO_HANDLE;
  case TPM2_RC_NV_DEFINED: return LIQUID_TPM_NV_DEFINED;
  case TPM2_RC_NV_SPACE: return LIQUID_TPM_NV_SPACE;
  default: return LIQUID_TPM_OTHER;
  }
}

// The public area of the storage key: ECC P-256 with AES-128-CFB, as the TCG's storage root key, with an empty unique.
static inline TPM2B_PUBLIC liquid_tpm_storage_key(void) {
  const TPMS_ECC_PARMS parameters = {
      .symmetric = {.algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB},
      .scheme.scheme = TPM2_ALG_NULL,
      .curveID = TPM2_ECC_NIST_P256,
      .kdf.scheme = TPM2_ALG_NULL};
  return (TPM2B_PUBLIC){
      .publicArea = {
          .type = TPM2_ALG_ECC,
          .nameAlg = TPM2_ALG_SHA256,
          .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN
              | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT,
          .parameters.eccDetail = parameters}};
}

// The public area of a sealed key. `policy` is NULL if the auth value alone allows its use. Only a key with a PIN is
// subject to the lock-out: wrong PINs for other keys must not block a key without a PIN.
static inline TPM2B_PUBLIC liquid_tpm_sealed_key(const TPM2B_DIGEST *policy, int has_pin) {
  TPM2B_PUBLIC result = {
      .publicArea = {
          .type = TPM2_ALG_KEYEDHASH,
          .nameAlg = TPM2_ALG_SHA256,
          .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT
              | (policy ? 0 : TPMA_OBJECT_USERWITHAUTH) | (has_pin ? 0 : TPMA_OBJECT_NODA),
          .parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL}};
  if (policy) result.publicArea.authPolicy = *policy;
  return result;
}

// The public area of a counter in the TPM's NV memory. Reads and increments need its auth value; wrong auth values do not
// count towards the lock-out. TPMA_NV_ORDERLY is not set: after a power failure, such a counter would jump ahead.
static inline TPM2B_NV_PUBLIC liquid_tpm_counter(uint32_t index) {
  return (TPM2B_NV_PUBLIC){
      .nvPublic = {
          .nvIndex = index,
          .nameAlg = TPM2_ALG_SHA256,
          .attributes = (TPM2_NT_COUNTER << TPMA_NV_TPM2_NT_SHIFT) | TPMA_NV_AUTHREAD | TPMA_NV_AUTHWRITE | TPMA_NV_NO_DA,
          .dataSize = sizeof(uint64_t)}};
}

// Returns whether an NV index is such a counter, and was incremented at least once.
static inline int liquid_tpm_is_counter(const TPM2B_NV_PUBLIC *found, uint32_t index) {
  const TPMS_NV_PUBLIC wanted = liquid_tpm_counter(index).nvPublic, *nv = &found->nvPublic;
  return nv->nvIndex == index && nv->nameAlg == wanted.nameAlg
      && nv->attributes == (wanted.attributes | TPMA_NV_WRITTEN) && nv->authPolicy.size == 0
      && nv->dataSize == wanted.dataSize;
}

// A selection of registers (PCRs) of the SHA-256 bank: bit n % 8 of byte n / 8 is register n.
static inline TPML_PCR_SELECTION liquid_tpm_pcrs(const uint8_t bitmap[3]) {
  return (TPML_PCR_SELECTION){
      .count = 1,
      .pcrSelections[0] = {
          .hash = TPM2_ALG_SHA256, .sizeofSelect = 3, .pcrSelect = {bitmap[0], bitmap[1], bitmap[2]}}};
}

// Returns whether a selection has a register.
static inline int liquid_tpm_has_pcrs(const TPML_PCR_SELECTION *list) {
  for (uint32_t bank = 0; bank < list->count; bank++)
    for (uint8_t index = 0; index < list->pcrSelections[bank].sizeofSelect; index++)
      if (list->pcrSelections[bank].pcrSelect[index]) return 1;
  return 0;
}

static inline int liquid_tpm_same_digest(const TPM2B_DIGEST *one, const TPM2B_DIGEST *other) {
  return one->size == other->size && !memcmp(one->buffer, other->buffer, one->size);
}

static inline TPMT_SYM_DEF liquid_tpm_session_cipher(void) {
  return (TPMT_SYM_DEF){.algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB};
}

// Writes TPM2B_PUBLIC ‖ TPM2B_PRIVATE; returns how many bytes, or 0 if there is no room.
static inline size_t liquid_tpm_marshal(
    const TPM2B_PUBLIC *public_area, const TPM2B_PRIVATE *private_area, uint8_t *bytes, size_t size) {
  size_t offset = 0;
  if (Tss2_MU_TPM2B_PUBLIC_Marshal(public_area, bytes, size, &offset)
      || Tss2_MU_TPM2B_PRIVATE_Marshal(private_area, bytes, size, &offset))
    return 0;
  return offset;
}

// Reads TPM2B_PUBLIC ‖ TPM2B_PRIVATE; returns whether the bytes are exactly these two structures.
static inline int liquid_tpm_unmarshal(
    const uint8_t *bytes, size_t size, TPM2B_PUBLIC *public_area, TPM2B_PRIVATE *private_area) {
  size_t offset = 0;
  return !Tss2_MU_TPM2B_PUBLIC_Unmarshal(bytes, size, &offset, public_area)
      && !Tss2_MU_TPM2B_PRIVATE_Unmarshal(bytes, size, &offset, private_area) && offset == size;
}

// Fills in an auth value of 32 bytes, without zero bytes at the end, which a TPM ignores.
static inline void liquid_tpm_fill_auth_value(TPM2B_AUTH *value, const void *bytes) {
  memcpy(value->buffer, bytes, 32);
  value->size = 32;
  while (value->size && !value->buffer[value->size - 1]) value->size--;
}

// Fills in the key to seal, and the auth value `pin`; NULL is an empty auth value.
static inline void liquid_tpm_fill_sensitive(
    TPM2B_SENSITIVE_CREATE *sensitive, const TPM2B_AUTH *pin, const void *key, size_t size) {
  memset(sensitive, 0, sizeof *sensitive);
  if (pin) sensitive->sensitive.userAuth = *pin;
  sensitive->sensitive.data.size = (UINT16)size;
  memcpy(sensitive->sensitive.data.buffer, key, size);
}

// The value of a property in the answer to GetCapability; 0 if it is absent.
static inline uint32_t liquid_tpm_property(const TPMS_CAPABILITY_DATA *data, TPM2_PT property) {
  const TPML_TAGGED_TPM_PROPERTY *list = &data->data.tpmProperties;
  for (uint32_t index = 0; index < list->count && index < TPM2_MAX_TPM_PROPERTIES; index++)
    if (list->tpmProperty[index].property == property) return list->tpmProperty[index].value;
  return 0;
}

static inline TSS2_RC liquid_tpm_properties(ESYS_CONTEXT *context, TPMS_CAPABILITY_DATA **data) {
  TPMI_YES_NO more;
  return Esys_GetCapability(
      context, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, TPM2_CAP_TPM_PROPERTIES, TPM2_PT_PERMANENT,
      TPM2_PT_LOCKOUT_INTERVAL - TPM2_PT_PERMANENT + 1, &more, data);
}
