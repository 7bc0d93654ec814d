export { type BlobCache, createBlobCache } from "./blob-cache.ts";
export { type Composition, createComposer, type Layer } from "./compose.ts";
export type { Environment } from "./environment.ts";
export { type CatalogView, followCatalog } from "./follow-catalog.ts";
export { createHeadSeal, type HeadSeal } from "./head-seal.ts";
export { storedSnapshot } from "./next-catalog.ts";
export { type Publisher, takeOverHead } from "./publish.ts";
