import { systemClock } from "../../internal/base/clock.ts";
import { systemJitter, systemRandom } from "../../internal/base/id.ts";
import { startShortLived } from "../../internal/base/short-lived.ts";

const { env, argv } = process;
const machine = { env, clock: systemClock, random: systemRandom };

// Each side is loaded alone: a call starts without the daemon, and a peel carries no commands in memory.
if (argv[2] === "call") await runCall();
else await runDaemon();

async function runCall(): Promise<void> {
  startShortLived(argv.slice(2), env);
  const { runTree } = await import("../../internal/cli/run-tree.ts");
  const { peelCommands } = await import("../../internal/peel/call.ts");
  const code = await runTree(peelCommands, {
    ...machine,
    argv: argv.slice(2),
    hostname: "",
    stdout: process.stdout,
    stderr: process.stderr,
    signals: process,
  });
  if (code !== 0) process.exitCode = code;
}

async function runDaemon(): Promise<void> {
  const daemon = await import("../../internal/base/daemon.ts");
  const { dataDir, loadPeelConfig } = await import("../../internal/config/load.ts");
  const code = await daemon.runDaemon({
    name: "svc-peel",
    load: () => loadPeelConfig(argv.slice(2), env),
    async run(config, context) {
      const { qualifiedHostname } = await import("../../internal/peel/hostname.ts");
      const { runPeel } = await import("../../internal/peel/run.ts");
      await runPeel({
        ...machine,
        ...context,
        jitter: systemJitter,
        config,
        hostname: qualifiedHostname(),
        dataDir: dataDir(env),
      });
    },
  });
  process.exit(code);
}
