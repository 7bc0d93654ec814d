import { argv, env } from "node:process";
import { startDaemon } from "../../internal/base/process/start-daemon.ts";

// Each side is loaded alone, as a daemon keeps no commands in memory.
if (argv[2] === "-Y") {
  // Git runs this executable in place of ssh-keygen to verify a signature.
  const { runSshStep } = await import("../../internal/tree/git/mod.ts");
  process.exit(runSshStep(argv.slice(2), env));
} else if (argv[2] === "check" || argv[2] === "bus-server") {
  const { runMasterCommand } = await import("../../internal/master/command/mod.ts");
  process.exit(await runMasterCommand(process, argv.slice(2)));
} else {
  startDaemon(argv.slice(2), env);
  const { runMasterDaemon } = await import("../../internal/master/daemon/mod.ts");
  process.exit(await runMasterDaemon(argv.slice(2), env));
}
