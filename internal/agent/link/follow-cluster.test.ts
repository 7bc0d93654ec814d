import { expect, test } from "bun:test";
import { recordingLog } from "../../../test/harness/log.ts";
import { createDocument } from "../../identity/bootstrap/mod.ts";
import { type FollowOptions, followCluster } from "./follow-cluster.ts";

const documentOf = (...fingerprints: string[]) =>
  createDocument(
    {
      ca_bundle_pem: "",
      fingerprint: fingerprints[0] ?? "",
      fingerprints,
      nats_urls: [],
      command_keys: ["U"],
    },
    0,
  );

/** A peel whose roots differ from the document until it has taken in what a master serves. */
function peel(served: readonly string[][], takes = true) {
  const requested: (readonly string[])[] = [];
  let held = ["old", "next"];
  const waiting = [...served];
  const options: FollowOptions = {
    connection: { urls: [] } as unknown as FollowOptions["connection"],
    explicit: true,
    site: () => undefined,
    cache: { save() {} } as unknown as FollowOptions["cache"],
    commandKeys: { current: ["U"], differs: () => false } as unknown as FollowOptions["commandKeys"],
    recoveryKeys: { lacks: () => false },
    roots: { differs: ({ fingerprints = [] }) => fingerprints.join() !== held.join() },
    async refresh() {
      const pins = waiting.shift() ?? [];
      requested.push(pins);
      if (takes) held = [...pins];
      return { pins, again: false };
    },
    log: recordingLog(),
  };
  return { follow: followCluster(options), requested, held: () => held };
}

test("a master over HTTPS that has not noticed the end of a rotation yet is asked again later", async () => {
  const { follow, requested, held } = peel([["old", "next"], ["next"]]);
  await expect(follow(documentOf("next"))).rejects.toMatchObject({
    kind: "unavailable",
    message: expect.stringContaining("other roots"),
  });
  await follow(documentOf("next"));
  expect(held()).toEqual(["next"]);
  await follow(documentOf("next"));
  expect(requested).toHaveLength(2);
});

test("a peel does not ask again for what it does not follow although masters agree", async () => {
  const { follow, held } = peel([["other"]], false);
  expect(await follow(documentOf("other"))).toBeUndefined();
  expect(held()).toEqual(["old", "next"]);
});
