import { SvcError } from "../../base/errors.ts";
import { enrollmentsOverBus } from "../../fleet/over-bus/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";

/** Thousands of records are rewritten. */
const timeoutMs = 120_000;

export const vouchCommand = command({
  name: "vouch",
  description:
    "Vouch for the UNVOUCHED enrollments, which masters of an earlier version made; from then on others count for nothing. Look at svc enroll list --state all first.",
  examples: ["svc enroll vouch --all"],
  args: { all: { type: "boolean", description: "All of them" } },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      if (args.all !== true) {
        throw new SvcError(
          "usage",
          "svc enroll vouch takes --all: look at svc enroll list --state all first",
        );
      }
      const vouched = await ask(bus, enrollmentsOverBus.vouch, {}, { timeoutMs });
      const { adopted, refused } = vouched;
      await cli.print(vouched, () => `${adopted} enrollments got vouchers; vouchers are enforced`);
      if (refused > 0)
        cli.say(`${refused} have no valid vouchers, and count for nothing: see svc enroll list --state all`);
    }),
});
