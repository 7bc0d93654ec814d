import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Contents } from "../files/mod.ts";
import { type EncodedManifest, encodeManifest, maxFiles, snapshotOf } from "../files/mod.ts";
import type { Environment } from "./environment.ts";

/** What an environment is published as. */
export interface EncodedEnvironment {
  manifest: EncodedManifest;
  snapshot: string;
}

/** The manifests of environments as they were published last. */
export type Encoded = Map<string, EncodedEnvironment & { files: Contents }>;

/** @throws SvcError `too_large` */
export function encodeOnce(encoded: Encoded, { name, origin, files }: Environment): EncodedEnvironment {
  const last = encoded.get(name);
  const isSame = last?.files === files;
  if (isSame && Bun.deepEquals(last.manifest.root.origin, origin)) return last;
  const manifest = encodeEnvironment({ name, origin, files });
  const next = { files, manifest, snapshot: isSame ? last.snapshot : snapshotOf(files) };
  encoded.set(name, next);
  return next;
}

/** Describes an environment. @throws SvcError `too_large` */
function encodeEnvironment({ name, origin, files }: Environment): EncodedManifest {
  if (files.size > maxFiles) {
    throw new SvcError("too_large", `the environment ${name} has more than ${maxFiles} files`);
  }
  const sorted = [...files]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, { digest, size, executable, blobs }]) => ({
      path,
      digest,
      size,
      executable,
      ...defined({ blobs }),
    }));
  return encodeManifest({ environment: name, origin, files: sorted });
}
