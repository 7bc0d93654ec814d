import { existsSync, renameSync, symlinkSync, unlinkSync } from "node:fs";

// Another user of the host: replaces directories with symbolic links to another place and back, as fast as it
// can, until it is killed or its parent is gone.

const [uid = "", outside = "", ...paths] = process.argv.slice(2);
const parent = process.ppid;
process.setgroups?.([]);
process.setgid?.(Number(uid));
process.setuid?.(Number(uid));

function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // The writer was faster, or made what was in the way.
  }
}

/** A pause of a different length in each round, so that each step of a writer is met. */
function dwell(round: number): void {
  for (let left = (round * 7_919) % 600; left > 0; left--) existsSync("/");
}

process.stdout.write("ready\n");
for (let round = 0; round % 256 !== 0 || process.ppid === parent; round++) {
  const path = paths[round % paths.length] ?? "";
  const away = `${path}.away`;
  attempt(() => renameSync(path, away));
  attempt(() => symlinkSync(outside + path.slice((paths[0] ?? "").length), path));
  dwell(round);
  attempt(() => unlinkSync(path));
  attempt(() => renameSync(away, path));
  dwell(round + 31);
}
