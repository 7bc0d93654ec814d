import { command, value, word } from "../../program/command-line/mod.ts";
import { planArgs } from "../rollout/plan-args.ts";

/** Imported by the command tree, so it loads its own imports only when it runs. */
export const upgradeCommand = command({
  name: "upgrade",
  description: "Upgrade peels to another svc-peel in waves. A peel rolls back if the upgrade fails.",
  examples: [
    "svc upgrade '*' --binary ./svc-peel --dry-run",
    "svc upgrade 'G@cpuarch:x86_64' --binary ./svc-peel --canary 3 --waves 10%,50%",
  ],
  args: {
    target: word("Target: a glob on the peel id, such as 'web-*', or a compound expression", {
      required: true,
      ids: "members",
    }),
    binary: value("file", "The new svc-peel executable, for the platform of these peels", { required: true }),
    "ready-within": value(
      "duration",
      "Roll back if the new svc-peel is not connected and ready after this time, 5s to 30m",
      { default: "2m" },
    ),
    timeout: value("duration", "Timeout of each wave, to fetch the binary and become ready", {
      default: "15m",
    }),
    ...planArgs,
  },
  async run(args, cli) {
    const { runUpgrade } = await import("./run.ts");
    await runUpgrade(args, cli);
  },
});
