import { SvcError } from "../../base/errors.ts";
import { operatorOperations } from "../../fleet/operators/mod.ts";
import { command, flag, formatFields, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { type AnswerTo, request } from "../request.ts";
import { nameArg } from "./add.ts";

export const listCommand = command({
  name: "list",
  description: "List the operators of the fleet, and the administrators that its masters know.",
  examples: ["svc operator list", "svc operator list --removed"],
  args: { removed: flag("Only operators who were removed, by their last records") },
  run: ({ removed }, cli) =>
    withBus(cli, async (bus) => {
      const input = removed === true ? { removed } : {};
      const { operators } = await request(bus, operatorOperations.listOperators, input);
      await cli.print(operators, () => formatOperators(operators, cli));
    }),
});

/** Operators as a table. */
export function formatOperators(
  operators: AnswerTo<typeof operatorOperations.listOperators>["operators"],
  style: TableStyle,
): string {
  return formatTable(
    { NAME: "text", STATE: "state", ROLES: "text", EXPIRES: "until", KEY: "text" },
    operators.map(({ name, state, roles, expires_at = "never", public_key }) => [
      ...[name, state, roles.join(","), expires_at, public_key],
    ]),
    style,
  );
}

/** Up to which versions the releases of a disabled operator stay. */
const shownVersions = (released: Readonly<Record<string, number>>): string =>
  Object.entries(released)
    .map(([environment, version]) => `${environment} up to ${version}`)
    .join(", ");

export const showCommand = command({
  name: "show",
  description: "Show an operator, and the operators that are valid only through its signature.",
  examples: ["svc operator show alice"],
  args: { name: { ...nameArg, description: "Name of the operator" } },
  run: ({ name }, cli) =>
    withBus(cli, async (bus) => {
      const { operator, dependents } = await request(bus, operatorOperations.showOperator, { name });
      if (operator === undefined) {
        throw new SvcError("not_found", `the operator ${name} does not exist: see svc operator list`);
      }
      await cli.print({ ...operator, dependents }, () =>
        formatFields([
          ["Name", operator.name],
          ["State", operator.reason === undefined ? operator.state : `${operator.state}: ${operator.reason}`],
          ["Roles", operator.roles.join(", ")],
          ["Key", operator.public_key],
          ["Known from", operator.administrator ? "auth/administrators of the masters" : "the registry"],
          ...(operator.created_at === undefined
            ? []
            : [["Created", `${operator.created_at} by ${operator.created_by ?? ""}`] as const]),
          ["Expires", operator.expires_at ?? "never"],
          ...(operator.released === undefined
            ? []
            : [["Released", shownVersions(operator.released)] as const]),
          ...(operator.version === undefined
            ? []
            : [["Version", `${operator.version}, signed by ${operator.signed_by ?? ""}`] as const]),
          ["Signs for", dependents.length === 0 ? "nobody else" : dependents.join(", ")],
        ]),
      );
    }),
});
