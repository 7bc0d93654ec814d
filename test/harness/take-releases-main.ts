import { openReleases } from "../../internal/agent/releases/open-releases.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { signRelease } from "../../internal/wire/release.ts";
import { recordingLog } from "./log.ts";

// Takes one release after the other into a file, and says each, until someone kills it.

const [file = "", text = ""] = process.argv.slice(2);
const { administrators, seed, fleet, from } = JSON.parse(text) as {
  administrators: { current: { name: string; publicKey: string }[]; fleet: string };
  seed: string;
  fleet: string;
  from: number;
};
const root = keyPairFromSeed("user", seed);
const own = openReleases({
  ...{ file, administrators, roles: [], environments: ["base"] },
  clock: systemClock,
  log: recordingLog(),
});
const snapshot = "ab".repeat(32);
for (let version = from + 1; ; version++) {
  const release = { fleet, environment: "base", snapshot, version, operator: "root" };
  own.take({ releases: [signRelease({ ...release, releasedAt: systemClock.now() }, root)], records: [] });
  process.stdout.write(`${version}\n`);
}
