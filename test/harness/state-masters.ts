import { expect } from "bun:test";
import { decode, encode } from "../../internal/base/msgpack.ts";
import { sha256Hex } from "../../internal/base/sha256.ts";
import { encodeFailure } from "../../internal/bus/subjects/envelope.ts";
import type { KeyPair } from "../../internal/identity/nkey.ts";
import {
  emptyCatalog,
  encodeCatalog,
  findSnapshot,
  type Published,
} from "../../internal/tree/files/catalog.ts";
import { encodeManifest } from "../../internal/tree/files/manifest.ts";
import { snapshotOf } from "../../internal/tree/files/snapshot.ts";
import { signStatement } from "../../internal/tree/files/statement.ts";
import { contentsOf } from "./contents.ts";

/** Masters in memory: what they published, and what a peel asked. */
export function mastersOf(command: KeyPair) {
  const blobs = new Map<string, Uint8Array>();
  const environments = new Map<string, Published[]>();
  const requested: string[] = [];
  const disguised = (
    path: string,
    { digest, blobs = [digest] }: { digest: string; blobs?: readonly string[] },
  ) => {
    const text = masters.disguise[path];
    return text === undefined ? {} : { digest: sha256Hex(Buffer.from(text)), size: text.length, blobs };
  };
  const masters = {
    connected: true,
    version: 100,
    key: command,
    /** What they answer as signed. */
    statement: undefined as Uint8Array | undefined,
    blobs,
    requested,
    /** What they answer with instead of a blob. */
    spoil: (data: Uint8Array): Uint8Array => data,
    /** What their catalog names as the digest of files that they publish now, in place of the right one. */
    claim: undefined as string | undefined,
    /** Texts whose digests their lists of files name, in place of those of what they hand out for these paths. */
    disguise: {} as Record<string, string>,
    /** Called before each answer. */
    before: async () => {},
    async publish(files: Record<string, string | Uint8Array>, environment = "base", commit?: string) {
      const contents = contentsOf(files);
      for (const content of contents.values()) {
        for await (const piece of content.pieces()) blobs.set(sha256Hex(piece), piece);
      }
      const origin = {
        directory: true,
        commits: commit === undefined ? [] : [{ remote: "r", ref: "refs/heads/main", commit }],
      };
      const manifestFiles = [...contents]
        .map(([path, { pieces: _, ...content }]) => ({ path, ...content, ...disguised(path, content) }))
        .sort((a, b) => (a.path < b.path ? -1 : 1));
      const manifest = encodeManifest({ environment, origin, files: manifestFiles });
      for (const [digest, data] of manifest.blobs) blobs.set(digest, data);
      const published = {
        manifest: manifest.digest,
        snapshot: masters.claim ?? snapshotOf(manifestFiles.map((file) => [file.path, file])),
        origin,
      };
      environments.set(environment, [published, ...(environments.get(environment) ?? [])]);
      masters.version++;
      masters.statement = masters.sign();
      return manifest.digest;
    },
    /** Signs what is published. */
    sign(base = environments.get("base")?.[0]?.manifest): Uint8Array {
      const catalog = encodeCatalog({ ...emptyCatalog(), environments });
      blobs.set(sha256Hex(catalog), catalog);
      const { version } = masters;
      return signStatement({ version, token: 1, catalog: sha256Hex(catalog), base }, masters.key);
    },
    async request(subject: string, data: Uint8Array): Promise<Uint8Array> {
      expect(subject).toBe("svc.peel.web-1.fetch");
      await masters.before();
      const request = decode(data) as {
        digests?: string[];
        environment?: string;
        commit?: string;
        snapshot?: string;
      };
      if (request.digests === undefined) {
        try {
          const catalog = { ...emptyCatalog(), environments };
          const { manifest } = findSnapshot(catalog, request.environment ?? "", request);
          return encode({ manifest, commits: [], statement: masters.statement });
        } catch (thrown) {
          return encodeFailure(thrown);
        }
      }
      const found: Uint8Array[] = [];
      for (const digest of request.digests.slice(0, 5)) {
        const blob = blobs.get(digest);
        if (blob === undefined) break;
        requested.push(digest);
        found.push(masters.spoil(blob));
      }
      if (found.length > 0) return encode({ blobs: found });
      return encode({ ok: false, error: { code: "not_found", message: "the state file does not exist" } });
    },
  };
  return masters;
}
