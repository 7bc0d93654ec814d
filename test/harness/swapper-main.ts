import { renameSync, symlinkSync, unlinkSync } from "node:fs";

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

/** A pause that is different each time, so that each step of a writer is met. */
function dwell(most: number): void {
  const until = performance.now() + Math.random() * most;
  while (performance.now() < until);
}

process.stdout.write("ready\n");
for (let round = 0; round % 256 !== 0 || process.ppid === parent; round++) {
  const path = paths[Math.floor(Math.random() * paths.length)] ?? "";
  const away = `${path}.away`;
  attempt(() => renameSync(path, away));
  attempt(() => symlinkSync(outside + path.slice((paths[0] ?? "").length), path));
  dwell(1);
  attempt(() => unlinkSync(path));
  attempt(() => renameSync(away, path));
  dwell(1);
}
