import { defined } from "../../base/defined.ts";
import { command, flag, formatFields, value } from "../../program/command-line/mod.ts";
import { programs } from "../host-words.ts";
import { initArgs, readWishes, sayWhatIsTaken } from "../init.ts";
import { operatorName } from "../operator.ts";

export const succeedCommand = command({
  name: "succeed",
  description:
    "Create a fleet that succeeds another one, whose keys were stolen: new keys, the same peels. Existing files are never overwritten.",
  examples: [
    "svc fleet succeed /srv/fleet-2 --from /srv/fleet-copy --recovery-seed recovery.seed --host master.example.com",
  ],
  args: {
    ...initArgs,
    from: value("directory", "A copy of the directory of the fleet before", { required: true }),
    "recovery-seed": value("file", "The recovery.seed of that fleet", { required: true }),
    "bus-backup": value("directory", "What svc bus backup wrote of its bus (default: backup in --from)"),
    "new-recovery": flag("Make a new recovery key, because the one before may be known to others"),
  },
  async run(args, cli) {
    const { succeedFleet, busVersion } = await import("../setup/mod.ts");
    const made = await succeedFleet({
      ...readWishes(args, cli),
      organization: args.org,
      owner: operatorName(),
      programs: programs(),
      ...defined({ busVersion: await busVersion(programs(), cli) }),
      from: args.from,
      recoverySeed: args["recovery-seed"],
      ...defined({ busBackup: args["bus-backup"] }),
      newRecovery: args["new-recovery"] === true,
      env: cli.env,
      say: cli.say,
      clock: cli.clock,
      random: cli.random,
    }).catch((cause) => {
      throw sayWhatIsTaken(cause, args.dir);
    });
    const { plan, pin, statement, peels, tampered, released } = made;
    const { serial, master_urls, bus_urls } = statement;
    const files = made.files.map(({ path, mode }) => ({ file: path, mode: mode.toString(8) }));
    const data = {
      ...{ dir: plan.dir, spki_pin: pin, serial, peels, tampered, released, master_urls, bus_urls, files },
    };
    await cli.print(data, () =>
      formatFields([
        ["Directory", plan.dir],
        ["CA pin", pin],
        ["Succession", `${serial}`],
        ["Peels taken over", `${peels}`],
        ["Peels ask at", master_urls.join(", ")],
        ["Bus", bus_urls.join(", ")],
      ]),
    );
    for (const id of tampered) cli.say(`${id} was not taken over: no master of the fleet before made it`);
    cli.say("");
    cli.say(
      "Stop every master and bus server of the fleet before. Then start the new master where the peels ask:",
    );
    cli.say(`  svc-master --config ${plan.paths.master}`);
    if (released.length > 0) {
      cli.say(
        "No release of the fleet before counts here. When the master runs, release these environments again:",
      );
    }
    for (const environment of released) {
      cli.say(`  svc states release --environment ${environment} --config ${plan.paths.operator}`);
    }
    cli.say(
      `Compare ${plan.paths.master} with the one before: options that were changed there are not taken over.`,
    );
  },
});
