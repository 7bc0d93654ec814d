import { hostname } from "node:os";
import { systemClock } from "../../internal/base/clock.ts";
import { isErrno, reasonOf } from "../../internal/base/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { runCli } from "../../internal/cli/run.ts";

process.stdout.on("error", (cause) => {
  // A reader that has seen enough, such as head, is no reason for a message.
  if (!isErrno(cause, "EPIPE")) process.stderr.write(`svc: cannot write the result: ${reasonOf(cause)}\n`);
  process.exitCode = 1;
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
});
if (code !== 0) process.exitCode = code;
