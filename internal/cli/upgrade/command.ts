import { command } from "../../program/command-line/mod.ts";
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
    target: {
      type: "positional",
      required: true,
      description: "Target: a glob on the peel id, such as 'web-*', or a compound expression",
      ids: "members",
    },
    binary: {
      type: "string",
      valueHint: "file",
      required: true,
      description: "The new svc-peel executable, for the platform of these peels",
    },
    "ready-within": {
      type: "string",
      valueHint: "duration",
      default: "2m",
      description: "Roll back if the new svc-peel is not connected and ready after this time, 5s to 30m",
    },
    timeout: {
      type: "string",
      valueHint: "duration",
      default: "15m",
      description: "Timeout of each wave, to fetch the binary and become ready",
    },
    ...planArgs,
  },
  async run(args, cli) {
    const { runUpgrade } = await import("./run.ts");
    await runUpgrade(args, cli);
  },
});
