import { hostname } from "node:os";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { runCli } from "../../internal/cli/run.ts";

process.exitCode = await runCli({
  argv: process.argv.slice(2),
  env: process.env,
  hostname: hostname(),
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  random: systemRandom,
});
