export { followMasters } from "./follow-masters.ts";
export { readHeldCertificate } from "./held-certificate.ts";
export { judgeBusCertificate } from "./judge.ts";
