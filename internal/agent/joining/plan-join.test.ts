import { expect, test } from "bun:test";
import { type KnownFleet, planJoin } from "./plan-join.ts";

const pin = (digits: string) => `sha256:${digits.repeat(32)}`;
const token: Parameters<typeof planJoin>[1] = { urls: ["https://svc:8443"], pins: [pin("ab")] };
const busUrl = "tls://localhost:4222";
const bare: KnownFleet = {
  ...{ configFile: "/etc/svc/peel.yaml", authDir: "/data/auth", urls: [], busUrl: "" },
  ...{ pins: undefined, anchored: undefined },
};
const urlLines = "master_urls:\n  - https://svc:8443\n";
const pinLines = `enroll_ca_pin:\n  - ${pin("ab")}\n`;

test.each<[string, Partial<KnownFleet>, Partial<typeof token>, string]>([
  ["an empty host gets both", {}, {}, urlLines + pinLines],
  ["its own masters stay", { urls: ["https://other:8443"], pins: [pin("ab")] }, {}, ""],
  ["a pin is added to the same masters", { urls: ["https://svc:8443"] }, {}, pinLines],
  ["the same root under another name is the same fleet", { anchored: [pin("ab")] }, {}, urlLines + pinLines],
  ["during a rotation one pin is enough", { pins: [pin("cd")] }, { pins: [pin("ab"), pin("cd")] }, urlLines],
  ["without a pin nothing is trusted on first use", {}, { pins: [] }, `${urlLines}enroll_trust: strict\n`],
  [
    "the bus of masters that advertise none",
    { pins: [pin("ab")] },
    { busUrl },
    `${urlLines}bus_url: ${busUrl}\n`,
  ],
  ["its own bus stays", { pins: [pin("ab")], busUrl: "tls://bus:4222" }, { busUrl }, urlLines],
])("%s", (_, known, more, added) => {
  expect(planJoin({ ...bare, ...known }, { ...token, ...more })).toBe(added);
});

test.each<[Partial<KnownFleet>, string]>([
  [{ pins: [pin("cd")] }, `/etc/svc/peel.yaml has the pin ${pin("cd")}`],
  [{ pins: [] }, "/etc/svc/peel.yaml has the pin"],
  [{ anchored: [pin("cd")] }, `/data/auth has the root ${pin("cd")}`],
  [{ urls: ["https://other:8443"] }, "/etc/svc/peel.yaml has the masters https://other:8443"],
])("a host of another fleet is not moved: %j", (known, message) => {
  expect(() => planJoin({ ...bare, ...known }, token)).toThrow(message);
});
