export { readAuthorities } from "./authorities.ts";
export { readKnownHosts } from "./known-hosts.ts";
export { type EvidenceType, evidenceMessage, evidenceTypes } from "./message.ts";
export { formatPemCertificates, readPemCertificates } from "./pem.ts";
export { Reader } from "./reader.ts";
export { type SshEvidence, verifySsh } from "./ssh.ts";
export { isSshCurve, readPositive, sshCurves } from "./ssh-key.ts";
export { challengeTpm, type TpmEvidence, type TpmKeys, type TpmRules, verifyTpm } from "./tpm.ts";
export { verifyX509, type X509Evidence } from "./x509.ts";
