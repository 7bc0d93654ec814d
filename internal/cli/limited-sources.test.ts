import { expect, test } from "bun:test";
import { formatNetwork } from "../base/names/ip-network.ts";
import { loadMasterConfig } from "../program/config/master.ts";
import { limitedSources } from "./limited-sources.ts";

const masterOf = (name: string, limited?: { source: string; refused: number; network?: string }[]) =>
  ({ name, ...(limited === undefined ? {} : { limited }) }) as never;
const read = (...masters: never[]) => limitedSources({ masters });

test("a source that several masters limit is shown once, and the most refused first", () => {
  const [few, many] = ["198.51.100.1/32", "192.0.2.7/32"];
  const found = read(
    masterOf("m1", [
      { source: few, refused: 70 },
      { source: many, refused: 50 },
    ]),
    masterOf("m2", [{ source: many, refused: 40 }]),
    masterOf("m3"),
  );
  expect(found.map(({ message }) => message)).toEqual([
    "192.0.2.7/32 is limited: m1, m2 refused 90 of its requests and connections within 10 minutes",
    "198.51.100.1/32 is limited: m1 refused 70 of its requests and connections within 10 minutes",
  ]);
});

test.each(["192.0.2.7/32", "2001:db8:0:1::/64", "::/64"])("masters accept the line for %s", (source) => {
  const [shown] = read(masterOf("m1", [{ source, refused: 10 }]));
  const [, networks = ""] = /write on the masters enroll\.networks: (\{.*\})$/.exec(shown?.next ?? "") ?? [];
  const loaded = loadMasterConfig(["--config", "/m.yaml"], {}, () => `enroll:\n  networks: ${networks}\n`);
  const values = loaded.kind === "run" ? loaded.values["enroll.networks"] : [];
  expect(
    values.map(({ cidr, name: _, ...budget }) => ({ ...budget, cidr: cidr.map(formatNetwork) })),
  ).toEqual([{ capacity: 500, refill: 1_000, connections: 500, cidr: [source] }]);
});

test("a named network needs a greater budget", () => {
  const [shown] = read(masterOf("m1", [{ source: "192.0.2.7/32", refused: 10, network: "berlin" }]));
  expect(shown?.next).toBe(
    "if your hosts or people are behind it, raise capacity and connections of enroll.networks.berlin on the masters",
  );
});
