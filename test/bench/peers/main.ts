import { loadavg, release, tmpdir } from "node:os";
import { readFlags } from "../flags.ts";
import { authorityRows } from "./authority.ts";
import { certificateRows } from "./certificates.ts";
import { filesRows } from "./files.ts";
import { idleRows } from "./idle.ts";
import { pingRows } from "./ping.ts";
import { installedPeers, noPeers } from "./programs.ts";

// What other products need for the same work, in turns within one run. `make bench-peers` installs those that it
// can below .tools; the others are left out. See docs/bench.md.

const flags = readFlags({
  peers: ["installed", "none"],
  only: "files,certificate,authority,idle,ping",
  files: ["1000", "10"],
  rounds: ["3", "1"],
  commands: ["11", "1"],
  certificates: ["500", "5"],
  agents: ["10", "1"],
  /** Everything is made below it. Some products flush what they write to the disk, and others do not. */
  dir: tmpdir(),
  settle: ["60", "0"],
  seconds: ["60", "1"],
});
process.env.TMPDIR = flags.text("dir");
const peers = flags.text("peers") === "none" ? noPeers : installedPeers;
const rounds = flags.count("rounds");
const rows: Readonly<Record<string, () => Promise<string>>> = {
  files: () => filesRows(peers, flags.count("files"), rounds),
  certificate: () => certificateRows(peers, flags.count("commands")),
  authority: () => authorityRows(peers, flags.count("certificates"), rounds),
  idle: () => idleRows(peers, flags.count("settle", 0), flags.count("seconds")),
  ping: () => pingRows(peers, flags.count("agents"), flags.count("commands")),
};

process.stdout.write(
  `${["Next to other products", ...peers.versions()].join("\n")}
Linux ${release()}, Bun ${Bun.version}, ${rounds} rounds in turns; medians, in ${flags.text("dir")}
`,
);
for (const name of flags.text("only").split(",")) {
  const row = rows[name];
  if (row === undefined)
    throw new Error(`--only: there are ${Object.keys(rows).join(", ")}, and not ${name}`);
  process.stdout.write(`\n${await row()}\nload ${loadavg()[0]?.toFixed(0)}\n`);
}
