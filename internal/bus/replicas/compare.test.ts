import { expect, test } from "bun:test";
import { compareReplicas } from "./compare.ts";
import type { Inspection, Replica } from "./inspect.ts";

type Triple = readonly [messages: number, first: number, last: number];

/** One look at the stream S: what each server holds. */
function inspection(held: Readonly<Record<string, Triple>>, peers = Object.keys(held)): Inspection {
  const replicas = new Map(
    Object.entries(held).map(([server, [messages, first, last]]): [string, Replica] => [
      server,
      { messages, first, last },
    ]),
  );
  return {
    servers: new Set(["n1", "n2", "n3"]),
    streams: new Map([["S", { leader: "n1", peers, replicas, direct: true }]]),
  };
}

const findings = (inspections: readonly Inspection[]) =>
  compareReplicas(inspections).map(({ message }) => message);

test("equal replicas, and a stream that nobody wrote to, do not differ", () => {
  const same: Triple = [10, 1, 10];
  expect(
    findings([inspection({ n1: same, n2: same, n3: same }), inspection({ n1: same, n2: same, n3: same })]),
  ).toEqual([]);
  expect(findings([])).toEqual([]);
});

test("the replica of a minority is named, also when it leads", () => {
  const inspections = [1, 2].map(() =>
    inspection({ n1: [4303, 1, 4600], n2: [4534, 1, 4600], n3: [4534, 1, 4600] }),
  );
  expect(findings(inspections)).toEqual([
    "S on n1 lacks messages: n1 holds 4303 messages up to 4600, n2 holds 4534 messages up to 4600",
  ]);
});

test("of two replicas the one that does not lead is named", () => {
  const inspections = [1, 2].map(() => inspection({ n1: [5, 1, 9], n2: [6, 1, 9] }));
  expect(compareReplicas(inspections)).toMatchObject([{ stream: "S", server: "n2" }]);
});

test("a busy stream differs a little in every look and is not reported", () => {
  const inspections = [0, 50, 100].map((at) =>
    inspection({ n1: [100 + at, 1, 100 + at], n2: [97 + at, 1, 97 + at], n3: [99 + at, 1, 99 + at] }),
  );
  expect(findings(inspections)).toEqual([]);
});

test("servers that remove what expired at different moments do not differ", () => {
  const inspections = [0, 50, 100].map((at) =>
    inspection({ n1: [100, 1 + at, 100 + at], n2: [103, at - 2, 100 + at], n3: [100, 1 + at, 100 + at] }),
  );
  expect(findings(inspections)).toEqual([]);
});

test("a busy stream that lacks messages in the middle is reported", () => {
  const inspections = [0, 50, 100].map((at) =>
    inspection({ n1: [1000 + at, 1, 1000 + at], n2: [998 + at, 1, 998 + at], n3: [900 + at, 1, 999 + at] }),
  );
  expect(findings(inspections)).toEqual([expect.stringContaining("S on n3 lacks messages")]);
});

test("a replica that stands still while the others continue is behind", () => {
  const inspections = [0, 50, 100].map((at) =>
    inspection({ n1: [60 + at, 1, 60 + at], n2: [60 + at, 1, 60 + at], n3: [50, 1, 50] }),
  );
  expect(findings(inspections)).toEqual([expect.stringContaining("S on n3 is behind and does not catch up")]);
});

test("oldest messages that only one server lacks are reported", () => {
  const inspections = [1, 2].map(() => inspection({ n1: [10, 1, 10], n2: [10, 1, 10], n3: [5, 6, 10] }));
  expect(findings(inspections)).toEqual([expect.stringContaining("S on n3 lacks the oldest messages")]);
});

test("a server that should hold a replica, and answers, but has none is reported", () => {
  const same: Triple = [10, 1, 10];
  const inspections = [1, 2].map(() => inspection({ n1: same, n2: same }, ["n1", "n2", "n3"]));
  expect(findings(inspections)).toEqual(["n3 does not hold S"]);
  const [first] = inspections;
  if (first === undefined) throw new Error("no look");
  expect(findings([{ ...first, servers: new Set(["n1", "n2"]) }, first])).toEqual([]);
});
