export { createCertificateSource, isEmbedded } from "./certificate.ts";
export { createFileCertificate } from "./certificate-files.ts";
export type { CertificateSource } from "./certificate-source.ts";
