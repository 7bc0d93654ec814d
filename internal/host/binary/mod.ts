export { digestOfFile } from "./digest.ts";
export {
  type BinaryManifest,
  chunkBytes,
  decodeBinaryManifest,
  encodeBinaryManifest,
  isVersionText,
  maxBinaryBytes,
  maxManifestBytes,
} from "./manifest.ts";
export { headBytes, platformOf } from "./platform.ts";
