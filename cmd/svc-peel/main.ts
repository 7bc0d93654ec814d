import { startShortLived } from "../../internal/base/process/short-lived.ts";
import { startDaemon } from "../../internal/base/process/start-daemon.ts";

const { argv, env } = process;
const isShort = argv[2] === "call" || argv[2] === "check" || argv[2] === "keygen";
(isShort ? startShortLived : startDaemon)(argv.slice(2), env);

// Each side is loaded alone: a call starts without the daemon, and a peel keeps no commands in memory.
if (isShort || argv[2] === "join") {
  const { runPeelCommand } = await import("../../internal/agent/command/mod.ts");
  // A join may continue as the daemon, whose end is the end of the process.
  await runPeelCommand(process, argv.slice(2), (code) => {
    if (isShort) process.exitCode = code;
    else process.exit(code);
  });
  if (!isShort) process.exit(0);
  const { endProcess } = await import("../../internal/program/command-line/mod.ts");
  await endProcess(process, 0);
} else if (argv[2] === "watchdog") {
  const { runWatchdogDaemon } = await import("../../internal/agent/watchdog/mod.ts");
  process.exit(await runWatchdogDaemon(argv.slice(3), env));
} else {
  const { runPeelDaemon } = await import("../../internal/agent/daemon/mod.ts");
  process.exit(await runPeelDaemon(argv.slice(2), env));
}
