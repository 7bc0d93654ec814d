import { rolesOverBus } from "../../fleet/over-bus/mod.ts";
import { command, formatTable } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";

export const showCommand = command({
  name: "show",
  description: "Show the roles in force, or what one of them allows.",
  args: {
    role: { type: "positional", required: false, description: "Only this role, with all that it allows" },
  },
  run: ({ role }, cli) =>
    withBus(cli, async (bus) => {
      const { roles, file, problem } = await ask(bus, rolesOverBus.show, role === undefined ? {} : { role });
      await cli.print(roles, () =>
        role === undefined
          ? formatTable(
              ["ROLE", "FROM", "KINDS"],
              roles.map((one) => [
                one.name,
                one.built_in ? "built in" : file,
                kindsOf(one).join(", ") || "-",
              ]),
              cli,
            )
          : formatTable(["MAY", "ON", "APPROVALS"], roles.flatMap(rowsOf), cli),
      );
      if (problem !== undefined) cli.say(problem);
    }),
});

type Shown = Awaited<ReturnType<(typeof rolesOverBus.show)["operation"]["run"]>>["roles"][number];

function kindsOf({ jobs, may }: Shown): string[] {
  return [...new Set([...jobs.map(() => "jobs"), ...may.map(({ kind }) => kind)])];
}

function rowsOf({ jobs, may }: Shown): string[][] {
  const needed = (approvals: number) => (approvals === 0 ? "-" : String(approvals));
  return [
    ...jobs.map(({ functions, targets, approvals }) => [
      `jobs run ${functions.join(", ")}`,
      targets,
      needed(approvals),
    ]),
    ...may.map(({ kind, action, approvals }) => [`${kind} ${action}`, "-", needed(approvals)]),
  ];
}
