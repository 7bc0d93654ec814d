export { createAuthority, newAuthority } from "./create.ts";
export { type CertificateSummary, describeCertificate } from "./describe.ts";
export {
  type AuthorityInForce,
  authorityStamp,
  loadInForce,
  type Root,
  type Rotation,
} from "./in-force.ts";
export { inspectAuthority, rootPins } from "./inspect.ts";
export { certifyKey, issueCertificate } from "./issue.ts";
export type { LeafUsage } from "./leaf.ts";
export { type Authority, loadAuthority } from "./load.ts";
export { checkPair, isKeyOf, namesOfLeaf } from "./pair.ts";
export { authorityPaths } from "./paths.ts";
export { type Reissued, reissueIntermediate, reissueRoot } from "./reissue.ts";
export { nextRenewal, remainingLife } from "./renew.ts";
export {
  abortRotation,
  activateRotation,
  finishRotation,
  type Rotating,
  readRotation,
  startRotation,
} from "./rotate.ts";
export { loadX509 } from "./x509.ts";
