import { expect, test } from "bun:test";
import type { ListedPeel } from "../../api/mod.ts";
import { groupings, groupPeels } from "./group-peels.ts";

type Given = Partial<Pick<ListedPeel, "os" | "version" | "labels" | "alive">> & { run?: string };
const peel = ({ run, ...given }: Given = {}) => ({
  ...{ alive: true, labels: {}, ...given },
  ...(run === undefined ? {} : { last_run: { status: run } as NonNullable<ListedPeel["last_run"]> }),
});
const peels = [
  peel({ os: "Debian 12", version: "1.0.0", labels: { env: "prod", tier: "web" } }),
  peel({ os: "Debian 12", version: "1.0.0", labels: { env: "prod" }, run: "failed" }),
  peel({ os: "Alpine 3.20.3", version: "0.9.0", labels: { env: "test" }, alive: false, run: "drifted" }),
  peel(),
];

test("peels can be summed up by what they have", () => {
  expect(groupings(peels)).toEqual(["system", "version", "label:env", "label:tier"]);
  expect(groupings([])).toEqual(["system", "version"]);
});

test("a group has its sums, and a target that means those alone", () => {
  const none = { silent: 0, failed: 0, drifted: 0 };
  expect(groupPeels(peels, "system", "")).toEqual([
    { value: "Debian 12", target: "G@os:Debian and G@osrelease:12", peels: 2, ...none, failed: 1 },
    { value: "", peels: 1, ...none },
    {
      ...{ value: "Alpine 3.20.3", target: "G@os:Alpine and G@osrelease:3.20.3", peels: 1 },
      ...{ silent: 1, failed: 0, drifted: 1 },
    },
  ]);
  expect(groupPeels(peels, "label:env", "web-* or db-*").map(({ value, target }) => [value, target])).toEqual(
    [
      ["prod", "(web-* or db-*) and T@env:prod"],
      ["", undefined],
      ["test", "(web-* or db-*) and T@env:test"],
    ],
  );
  expect(groupPeels(peels, "version", "").map(({ target }) => target)).toEqual([
    "G@svc_version:1.0.0",
    undefined,
    "G@svc_version:0.9.0",
  ]);
});

test.each(["Red Hat 9", "x or *", "<b>1</b>", "a) 1", "*", ""])(
  "no target is made of what a host calls itself: %j",
  (os) => {
    expect(
      groupPeels([peel({ os, version: os, labels: { env: os } })], "system", "").at(0)?.target,
    ).toBeUndefined();
    expect(
      groupPeels([peel({ os, labels: { [os]: "x" } })], `label:${os}`, "").at(0)?.target,
    ).toBeUndefined();
  },
);
