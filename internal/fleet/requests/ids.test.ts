import { expect, test } from "bun:test";
import { isId, systemRandom } from "../../base/id.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { createRecordMac, newKeyPair } from "../../identity/mod.ts";
import { signRequest } from "../../wire/signed-request.ts";
import { idOfRequest } from "./ids.ts";

const ann = newKeyPair("user", systemRandom);
const mac = createRecordMac(newKeyPair("account", systemRandom));
const request = {
  body: encode({ target: "web-1" }),
  operator: "ann",
  sentAt: 1_800_000_000_000,
  nonce: systemRandom(16),
};
const signed = (more: Partial<typeof request> = {}, key = ann) => ({
  envelope: signRequest("svc.job.request", { ...request, ...more }, key),
});

test("a request has one id for each kind, on every master and however often it is sent", () => {
  const id = idOfRequest("job", signed(), mac);
  expect(isId("job", id)).toBe(true);
  expect(idOfRequest("job", signed(), mac)).toBe(id);
  // Another signature of the same bytes changes nothing.
  const fields = decode(signed().envelope) as Record<string, Plain>;
  const resigned = { envelope: encode({ ...fields, signature: new Uint8Array(64) }) };
  expect(idOfRequest("job", resigned, mac)).toBe(id);
  expect(idOfRequest("rol", signed(), mac).slice(4)).not.toBe(id.slice(4));
});

test("another request has another id, which no one without the key of the masters can predict", () => {
  const ids = [
    idOfRequest("job", signed(), mac),
    idOfRequest("job", signed({ nonce: systemRandom(16) }), mac),
    idOfRequest("job", signed({ body: encode({ target: "web-2" }) }), mac),
    idOfRequest("job", signed({}, newKeyPair("user", systemRandom)), mac),
    idOfRequest("job", signed({ sentAt: request.sentAt + 1_000 }), mac),
    idOfRequest("job", signed(), createRecordMac(newKeyPair("account", systemRandom))),
  ];
  expect(new Set(ids).size).toBe(ids.length);
});
