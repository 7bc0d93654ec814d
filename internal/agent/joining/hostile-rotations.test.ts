import { beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { testAuthority } from "../../../test/harness/impostor.ts";
import { encodeBase64 } from "../../base/base64.ts";
import { systemRandom } from "../../base/id.ts";
import {
  type BootstrapDocument,
  createDocument,
  parseDocument,
  rotationMessage,
} from "../../identity/bootstrap/mod.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { followRoots } from "../trust/follow-roots.ts";

// Documents of a rotation that a master without the command key serves: it never adds a root.

const key = newKeyPair("user", systemRandom);
let [current, next, foreign]: { rootPem: string; pin: string }[] = [];
let valid: BootstrapDocument;

beforeAll(async () => {
  [current, next, foreign] = await Promise.all(["one", "two", "three"].map((name) => testAuthority(name)));
  const pins = [current?.pin ?? "", next?.pin ?? ""] as const;
  valid = createDocument(
    {
      ...{ nats_urls: [], command_keys: [key.publicKey], fingerprint: pins[0], fingerprints: [...pins] },
      ca_bundle_pem: `${current?.rootPem.trim()}\n${next?.rootPem.trim()}\n`,
      trust_rotation: {
        ...{ phase: "start", next_fingerprint: pins[1], key: key.publicKey },
        signature: encodeBase64(key.sign(rotationMessage("start", ...pins))),
      },
    },
    0,
  );
});

/** The roots that a peel trusts after a document. */
function rootsAfter(document: BootstrapDocument): readonly string[] {
  const held = { ancestors: [], roots: [current?.rootPem.trim() ?? ""] };
  const decision = followRoots(held, document, [key.publicKey], 0);
  return (decision.kind === "replace" ? decision.held : held).roots;
}

test("the document that the others are made of adds the next root", () => {
  expect(rootsAfter(valid)).toEqual([current?.rootPem.trim() ?? "", next?.rootPem.trim() ?? ""]);
});

test("any value is read or not, and a rotation that cannot be read does not hide the rest", () => {
  fc.assert(
    fc.property(fc.anything({ maxDepth: 3 }), (value) => {
      parseDocument(value);
      const read = parseDocument({ ...valid, trust_rotation: value });
      expect(read?.fingerprint).toBe(valid.fingerprint);
      if (read !== undefined && !Bun.deepEquals(value, valid.trust_rotation)) {
        expect(rootsAfter(read)).toHaveLength(1);
      }
    }),
    { numRuns: 2_000 },
  );
});

test("any field of the signed statement with another value adds nothing", () => {
  const field = fc.constantFrom("phase", "next_fingerprint", "signature", "key");
  const other = fc.oneof(
    fc.string(),
    fc.constantFrom("activate", "finish", key.publicKey),
    fc.base64String(),
  );
  fc.assert(
    fc.property(field, other, (name, value) => {
      const { trust_rotation } = valid;
      if (trust_rotation === undefined) throw new Error("no rotation");
      fc.pre(trust_rotation[name] !== value);
      const document = { ...valid, trust_rotation: { ...trust_rotation, [name]: value } };
      expect(rootsAfter(document)).toHaveLength(1);
    }),
    { numRuns: 2_000 },
  );
});

test("a root that no command key signed is never added, wherever a document names it", () => {
  const pem = fc.constantFrom(current, next, foreign);
  const pins = fc.array(pem, { maxLength: 3 });
  fc.assert(
    fc.property(pins, pins, pem, (named, served, first) => {
      const document = {
        ...valid,
        fingerprint: first?.pin ?? "",
        fingerprints: named.map((one) => one?.pin ?? ""),
        ca_bundle_pem: served.map((one) => `${one?.rootPem.trim()}\n`).join(""),
      };
      expect(rootsAfter(document)).not.toContain(foreign?.rootPem.trim() ?? "");
      expect(rootsAfter(document)[0]).toBe(current?.rootPem.trim() ?? "");
    }),
    { numRuns: 1_000 },
  );
});
