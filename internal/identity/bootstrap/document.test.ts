import { expect, test } from "bun:test";
import { createDocument, documentTag, parseDocument } from "./document.ts";

const own = createDocument(
  { ca_bundle_pem: "pem", fingerprint: "sha256:00", nats_urls: ["tls://bus:4222"], command_keys: [] },
  0,
);

test("unknown fields of a newer master are ignored, and do not change the identity", () => {
  const parsed = parseDocument({ ...own, later: { field: 1 }, v: 1 });
  expect(parsed).toEqual(own);
  if (parsed !== undefined) expect(documentTag(parsed)).toBe(documentTag(own));
});

test("fields may be absent", () => {
  expect(parseDocument({ v: 1 })).toEqual({
    v: 1,
    ca_bundle_pem: "",
    fingerprint: "",
    nats_urls: [],
    issued_at: "",
    command_keys: [],
    recovery_keys: [],
  });
});

test.each([
  [undefined],
  [null],
  [[]],
  ["x"],
  [{}],
  [{ v: "1" }],
  [{ v: 1, nats_urls: "tls://bus" }],
  [{ v: 1, fingerprint: 1 }],
])("no document: %#", (value) => {
  expect(parseDocument(value)).toBeUndefined();
});
