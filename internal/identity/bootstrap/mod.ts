export { type BootstrapCache, createBootstrapCache } from "./cache.ts";
export { checkDiscovered, sameServers } from "./discover.ts";
export {
  type BootstrapDocument,
  createDocument,
  documentTag,
  issuingPin,
  parseDocument,
  pinsOf,
  rotationMessage,
  urlsFor,
} from "./document.ts";
