import { expect, test } from "bun:test";
import { recordingLog } from "../../../test/harness/log.ts";
import { unsoundKey } from "../../../test/harness/unsound-key.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { addSite } from "./operations.ts";

test("a site whose key is not a point of its curve is refused before anything is written", async () => {
  const call = {
    caller: { kind: "operator", name: "root", door: "bus" },
    ...{ log: recordingLog(), clock: systemClock },
  } as const;
  const { publicKey: link_key } = newKeyPair("user", systemRandom);
  const keys = { link_key, system_key: unsoundKey };
  await expect(
    addSite.run({} as never, { site: "lyon", urls: ["tls://lyon:4222"], ...keys }, call),
  ).rejects.toThrow("system_key is not a usable key");
});
