export { type BlobCache, createBlobCache } from "./blob-cache.ts";
export { type BlobFiles, openBlobFiles } from "./blob-files.ts";
export { type Catalog, decodeCatalog, findSnapshot } from "./catalog.ts";
export { type Composition, createComposer, type Layer } from "./compose.ts";
export { type Content, type Contents, cut, startHashing } from "./contents.ts";
export { createDirectorySource } from "./directory-source.ts";
export type { FileSource } from "./files.ts";
export { type CatalogView, followCatalog } from "./follow-catalog.ts";
export { createHeadSeal, type HeadSeal } from "./head-seal.ts";
export {
  assembleManifest,
  blobsOf,
  decodePage,
  decodeRoot,
  type Manifest,
  type ManifestFile,
  maxBlobBytes,
  maxFiles,
  pathProblem,
} from "./manifest.ts";
export { type Environment, type Publisher, takeOverHead } from "./publish.ts";
export { createDirectoryScan } from "./scan-directory.ts";
export { createSnapshotSource, type SnapshotSource } from "./snapshot-source.ts";
export { openStatement, type SignedStatement } from "./statement.ts";
export { walkDirectory } from "./walk-directory.ts";
