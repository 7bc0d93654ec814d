import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { createKeptFile } from "../../internal/fleet/audit/kept-file.ts";
import { recordingLog } from "./log.ts";

// A file of a master on a full disk, and after room was made. Prints what is there as JSON.

const [path = "", filler = ""] = process.argv.slice(2);
let text = "new";
const file = createKeptFile({ path, holds: "the values", render: () => text, log: recordingLog() });
const look = () => ({
  problem: file.problem ?? "",
  holds: readFileSync(path, "utf8"),
  files: readdirSync(dirname(path)).filter((name) => !filler.endsWith(`/${name}`)),
});

file.save();
const full = look();
file.retry();
const still = look();
rmSync(filler);
text = "newest";
file.retry();
process.stdout.write(JSON.stringify({ full, still, freed: look() }));
