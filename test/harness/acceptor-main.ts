import { openAccepted } from "../../internal/agent/succession/accepted.ts";
import { nthStatement, trustFiles } from "./succession.ts";

// A peel that accepts one statement of succession after the other, until it is killed or its parent is gone.

const [dir = ""] = process.argv.slice(2);
const accepted = openAccepted(trustFiles(dir));
const parent = process.ppid;
let serial = accepted.statement?.serial ?? 0;
accepted.accept(nthStatement(++serial));
process.stdout.write("ready\n");
while (process.ppid === parent) accepted.accept(nthStatement(++serial));
