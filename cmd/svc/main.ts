import { hostname } from "node:os";
import { isatty } from "node:tty";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { runCli } from "../../internal/cli/mod.ts";
import { atTerminal, endOnBrokenOutput, endProcess } from "../../internal/program/command-line/mod.ts";

endOnBrokenOutput("svc", process, (code) => {
  process.exitCode = code;
});

const code = await runCli({
  argv: process.argv.slice(2),
  env: process.env,
  hostname: hostname(),
  stdout: process.stdout,
  stderr: process.stderr,
  signals: process,
  clock: systemClock,
  random: systemRandom,
  // Without process.stdin, which opens a stream that few commands read.
  ...(isatty(0) && process.stderr.isTTY ? atTerminal : {}),
});
await endProcess(process, code);
