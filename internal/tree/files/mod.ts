export { type BlobFiles, openBlobFiles } from "./blob-files.ts";
export {
  allPublished,
  type Catalog,
  decodeCatalog,
  emptyCatalog,
  encodeCatalog,
  findSnapshot,
  keptSnapshots,
  type Published,
  type WantedSnapshot,
} from "./catalog.ts";
export { contentOf } from "./content-of.ts";
export { type Content, type Contents, cut, overlay, startHashing } from "./contents.ts";
export { createDirectorySource } from "./directory-source.ts";
export type { FileSource } from "./files.ts";
export {
  assembleManifest,
  blobsOf,
  decodePage,
  decodeRoot,
  type EncodedManifest,
  encodeManifest,
  fileProblem,
  type Manifest,
  type ManifestFile,
  maxBlobBytes,
  maxFiles,
  type SnapshotOrigin,
} from "./manifest.ts";
export { createDirectoryScan } from "./scan-directory.ts";
export { snapshotOf } from "./snapshot.ts";
export { createSnapshotSource, type SnapshotSource } from "./snapshot-source.ts";
export { openStatement, type SignedStatement, type Statement, signStatement } from "./statement.ts";
export { walkDirectory } from "./walk-directory.ts";
