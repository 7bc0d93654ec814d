import { roleOperations } from "../../fleet/roles/mod.ts";
import { command, formatTable, type TableStyle, word } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { type AnswerTo, request } from "../request.ts";

export const showCommand = command({
  name: "show",
  description: "Show the roles in force, or what one of them allows.",
  examples: ["svc roles show", "svc roles show operator"],
  lists: true,
  args: {
    role: word("Only this role, with all that it allows", { required: false }),
  },
  run: ({ role }, cli) =>
    withBus(cli, async (bus) => {
      const { roles, file, problem } = await request(
        bus,
        roleOperations.showRoles,
        role === undefined ? {} : { role },
      );
      await cli.print(roles, () =>
        role === undefined ? formatRoles(roles, file, cli) : formatRights(roles, cli),
      );
      if (problem !== undefined) cli.say(problem);
    }),
});

type Shown = AnswerTo<typeof roleOperations.showRoles>["roles"][number];

/** The roles in force. @param file where those that are not built in come from */
export function formatRoles(roles: readonly Shown[], file: string, style: TableStyle): string {
  return formatTable(
    { ROLE: "text", FROM: "text", KINDS: "prose" },
    roles.map((one) => [one.name, one.built_in ? "built in" : file, kindsOf(one).join(", ") || "-"]),
    style,
  );
}

/** What roles allow, a row for each right. */
export function formatRights(roles: readonly Shown[], style: TableStyle): string {
  return formatTable(
    { MAY: "prose", ON: "prose", FILES: "prose", APPROVALS: "word" },
    roles.flatMap(rowsOf),
    style,
  );
}

function kindsOf({ jobs, may }: Shown): string[] {
  return [...new Set([...jobs.map(() => "jobs"), ...may.map(({ kind }) => kind)])];
}

function rowsOf({ jobs, may }: Shown): string[][] {
  const needed = (approvals: number) => (approvals === 0 ? "-" : String(approvals));
  return [
    ...jobs.map(({ functions, targets, environments, commits, approvals }) => [
      `jobs run ${functions.join(", ")}`,
      targets,
      `${commits === "any" ? "any commit" : "newest"} of ${environments.join(", ")}`,
      needed(approvals),
    ]),
    ...may.map(({ kind, action, approvals, targets = "-" }) => [
      ...[`${kind} ${action}`, targets, "-", needed(approvals)],
    ]),
  ];
}
