export { busValidityMs, renewBusCertificate, renewRootFile } from "./bus-files.ts";
export { createCertificateSource, isEmbedded } from "./certificate.ts";
export { createFileCertificate } from "./certificate-files.ts";
export type { CertificateSource, EnrollCertificate } from "./certificate-source.ts";
