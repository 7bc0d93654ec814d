import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { fixtureHost } from "../../../test/harness/facts.ts";
import asSalt from "./as-salt.json" with { type: "json" };
import { collectFacts } from "./collect.ts";
import { osFacts } from "./os.ts";

// as-salt.json has what Salt 3007.1 makes of these texts: test/formulas/os-grains.py renews it.

/** What is not as in Salt, on purpose: a derivative belongs to the family that it names, and a release has a word. */
const differs: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  // Salt takes an answer of lsb_release here, which is n/a where the text names no release.
  "Debian testing": { osrelease: "n/a", osfinger: "Debian-n/a" },
  Void: { osrelease: "n/a", osfinger: "Void-n/a" },
  Arch: { osrelease: "rolling", osfinger: "Arch Linux-rolling" },
  Manjaro: { osrelease: "rolling", osfinger: "Manjaro Linux-rolling" },
  EndeavourOS: { osrelease: "2024.06.25", osmajorrelease: 2024, osfinger: "EndeavourOS-2024" },
  Parrot: { os: "Debian", os_family: "Debian", osfinger: "Debian-6" },
  Astra: { os_family: "Debian" },
};
const names = [
  "os",
  "os_family",
  "osfullname",
  "osrelease",
  "osmajorrelease",
  "oscodename",
  "osfinger",
] as const;

test.each(asSalt)("$name has the grains of Salt", async ({ name, release, grains }) => {
  const host = fixtureHost({ files: { "/etc/os-release": release } });
  const { facts } = await collectFacts(osFacts, host, manualClock());
  const found = Object.fromEntries(names.flatMap((each) => (each in facts ? [[each, facts[each]]] : [])));
  expect(found).toEqual({ ...grains, ...differs[name] });
  for (const each of ["osrelease", "oscodename", "osfinger"]) expect(facts).toHaveProperty(each);
});
