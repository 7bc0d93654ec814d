import { quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { deferring } from "../not-ready.ts";
import { planSteps, refuseWith, type Step, says, unchanged } from "../steps.ts";
import { connectionArgs, identifier, literal, nameProblem, openPostgres } from "./client.ts";

/** States of tablespaces of PostgreSQL. */
export const tablespaceStates: readonly StateFunction[] = deferring([
  defineState({
    name: "postgres_tablespace.present",
    doc: "Ensures that a tablespace exists.",
    args: {
      directory: arg.path("An empty directory of the server, which owns it.", { required: true }),
      options: arg.map("Parameters of the tablespace, such as random_page_cost."),
      owner: arg.string("Owner; the role that connects by default."),
      ...connectionArgs,
    },
    refuse({ options }) {
      const wrong = Object.keys(options ?? {}).find((name) => !/^[a-z_]+$/.test(name));
      return wrong === undefined ? undefined : `options: ${quote(wrong, 40)} is not a parameter`;
    },
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const { directory, owner } = args;
      const options = Object.entries(args.options ?? {}).map(([option, value]) => ({
        option,
        value: String(value),
      }));
      const server = await openPostgres(args, context);
      const [found] = await server.rows<{ owner: string; directory: string; options: string }>(
        `SELECT pg_get_userbyid(spcowner)::text AS owner, pg_tablespace_location(oid)::text AS directory,
        coalesce(array_to_string(spcoptions, ','), '')::text AS options
        FROM pg_tablespace WHERE spcname = ${literal(name)}`,
      );
      const quoted = identifier(name);
      const settings = options.map(({ option, value }) => `${option} = ${literal(value)}`).join(", ");
      if (found === undefined) {
        const owned = owner === undefined ? "" : ` OWNER ${identifier(owner)}`;
        const tuned = options.length === 0 ? "" : ` WITH (${settings})`;
        const statement = `CREATE TABLESPACE ${quoted}${owned} LOCATION ${literal(directory)}${tuned}`;
        const run = () => server.run(`create the tablespace ${name}`, [statement]);
        return planSteps(
          [{ changes: { [name]: "created" }, run }],
          says(`the tablespace ${name}`, "created"),
        );
      }
      if (found.directory !== directory) {
        throw new StateFailure(
          `the tablespace ${name} is in ${found.directory}, which only a new tablespace can change`,
        );
      }
      const steps: Step[] = [];
      const change = (what: string, old: string, fresh: string, statement: string) =>
        steps.push({
          changes: { [what]: { old, new: fresh } },
          run: () => server.run(`change the ${what} of ${name}`, [`ALTER TABLESPACE ${quoted} ${statement}`]),
        });
      if (owner !== undefined && owner !== found.owner) {
        change("owner", found.owner, owner, `OWNER TO ${identifier(owner)}`);
      }
      const set = found.options.split(",");
      const missing = options.filter(({ option, value }) => !set.includes(`${option}=${value}`));
      if (missing.length > 0) change("options", found.options, settings, `SET (${settings})`);
      return planSteps(
        steps,
        says(`the tablespace ${name}`, "changed", `the tablespace ${name} is as requested`),
      );
    },
  }),
  defineState({
    name: "postgres_tablespace.absent",
    doc: "Ensures that a tablespace does not exist; one that is not empty is not removed.",
    args: connectionArgs,
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const server = await openPostgres(args, context);
      const found = await server.rows(
        `SELECT 1 AS found FROM pg_tablespace WHERE spcname = ${literal(name)}`,
      );
      if (found.length === 0) return unchanged(`the tablespace ${name} does not exist`);
      const run = () => server.run(`remove the tablespace ${name}`, [`DROP TABLESPACE ${identifier(name)}`]);
      return planSteps([{ changes: { [name]: "removed" }, run }], says(`the tablespace ${name}`, "removed"));
    },
  }),
]);
