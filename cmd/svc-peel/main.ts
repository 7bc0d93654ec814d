import { startShortLived } from "../../internal/base/process/short-lived.ts";
import { startDaemon } from "../../internal/base/process/start-daemon.ts";

const { argv, env } = process;

// Each side is loaded alone: a call starts without the daemon, and a peel keeps no commands in memory.
if (argv[2] === "call" || argv[2] === "check" || argv[2] === "keygen") {
  startShortLived(argv.slice(2), env);
  const { runPeelCommand } = await import("../../internal/agent/command/mod.ts");
  await runPeelCommand(process, argv.slice(2), (code) => {
    process.exitCode = code;
  });
} else if (argv[2] === "join") {
  startDaemon(argv.slice(2), env);
  const { runPeelCommand } = await import("../../internal/agent/command/mod.ts");
  // It may continue as the daemon, whose end is the end of the process.
  await runPeelCommand(process, argv.slice(2), (code) => process.exit(code));
  process.exit(0);
} else if (argv[2] === "watchdog") {
  // The peel inherits the settings.
  startDaemon(argv.slice(2), env);
  const { runWatchdogDaemon } = await import("../../internal/agent/watchdog/mod.ts");
  process.exit(await runWatchdogDaemon(argv.slice(3), env));
} else {
  startDaemon(argv.slice(2), env);
  const { runPeelDaemon } = await import("../../internal/agent/daemon/mod.ts");
  process.exit(await runPeelDaemon(argv.slice(2), env));
}
