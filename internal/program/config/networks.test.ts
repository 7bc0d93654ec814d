import { expect, test } from "bun:test";
import { formatNetwork } from "../../base/names/ip-network.ts";
import { loadMasterConfig } from "./master.ts";

const load = (yaml: string) => {
  const loaded = loadMasterConfig(["--config", "/m.yaml"], {}, () => yaml);
  if (loaded.kind !== "run") throw new Error(`unexpected ${loaded.kind}`);
  return loaded.values["enroll.networks"];
};
const failure = (yaml: string): string => {
  try {
    load(yaml);
    return "nothing failed";
  } catch (thrown) {
    return (thrown as Error).message;
  }
};
const networks = (text: string) => `enroll:\n  networks:\n    ${text}\n`;

test("named networks are read, and none is the default", () => {
  expect(load("")).toEqual([]);
  expect(
    load(networks("berlin: {cidr: [192.0.2.0/24, '2001:db8::/48'], capacity: 500, refill: 1s}")),
  ).toEqual([
    {
      name: "berlin",
      cidr: [
        { bytes: Uint8Array.of(192, 0, 2, 0), bits: 24 },
        { bytes: Uint8Array.of(0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), bits: 48 },
      ],
      capacity: 500,
      refill: 1_000,
    },
  ]);
});

test("a network may have a number of connections", () => {
  const text = "a: {cidr: [10.0.0.0/8], capacity: 1, refill: 1s, connections: 500}";
  expect(load(networks(text))).toMatchObject([{ connections: 500 }]);
});

test.each(["10.0.0.0/8", "2001:db8::/48", "::1/128", "::/0", "2001:db8:0:1::/64"])(
  "%s is shown as it is written",
  (text) => {
    const [network] = load(networks(`a: {cidr: ['${text}'], capacity: 1, refill: 1s}`));
    expect(network?.cidr.map(formatNetwork)).toEqual([text]);
  },
);

test.each([
  ["[a]", "expected a map of networks"],
  ["a: {cidr: [192.0.2.0/24], capacity: 5}", '"a": refill is missing'],
  ["a: {cidr: [192.0.2.0/24], refill: 5s}", '"a": capacity is missing'],
  ["a: {capacity: 5, refill: 5s}", '"a": cidr is missing'],
  ["a: {cidr: [192.0.2.1/24], capacity: 5, refill: 5s}", "bits beyond the length must be zero"],
  ["a: {cidr: [web], capacity: 5, refill: 5s}", "is not a network such as"],
  ["a: {cidr: [10.0.0.0/8], capacity: 0, refill: 5s}", "capacity: expected a whole number from 1"],
  [
    "a: {cidr: [10.0.0.0/8], capacity: 1, refill: 1s, connections: 0}",
    "connections: expected a whole number from 1",
  ],
  ["a: {cidr: [10.0.0.0/8], capacity: 1, refill: 0s}", "refill: expected"],
  ["a: {cidr: [10.0.0.0/8], capacity: 1, refill: 1s, x: 1}", 'unknown key "x"'],
  ["'a b': {cidr: [10.0.0.0/8], capacity: 1, refill: 1s}", "expected a name of at most 63"],
])("%s names the field", (text, expected) => {
  const message = failure(networks(text));
  expect(message).toStartWith("/m.yaml:");
  expect(message).toContain("enroll.networks: ");
  expect(message).toContain(expected);
});

test("one range belongs to one network", () => {
  const text =
    "a: {cidr: [10.0.0.0/8], capacity: 1, refill: 1s}\n    b: {cidr: [10.0.0.0/8], capacity: 1, refill: 1s}";
  expect(failure(networks(text))).toContain('"b": cidr: 10.0.0.0/8 is a network of a already');
});
