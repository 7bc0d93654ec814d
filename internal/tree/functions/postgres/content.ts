import { arg } from "../../../host/modules/mod.ts";
import { defineState, type StateFunction } from "../../function/mod.ts";
import { deferring } from "../not-ready.ts";
import { planSteps, refuseWith, type Step, says, unchanged } from "../steps.ts";
import { connectionArgs, identifier, literal, nameProblem, openPostgres } from "./client.ts";

const cascade = arg.boolean("Also removes what depends on it; false by default.");

/** States of extensions of PostgreSQL. */
export const extensionStates: readonly StateFunction[] = deferring([
  defineState({
    name: "postgres_extension.present",
    doc: "Ensures that an extension is installed in the database maintenance_db.",
    args: {
      schema: arg.string("Schema of its objects."),
      ext_version: arg.string("Version; any by default."),
      if_not_exists: arg.boolean("Accepted for trees of Salt: an extension is never created twice."),
      ...connectionArgs,
    },
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const { schema, ext_version: version } = args;
      const server = await openPostgres(args, context);
      const [found] = await server.rows<{ version: string; schema: string }>(
        `SELECT e.extversion::text AS version, n.nspname::text AS schema FROM pg_extension e
         JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = ${literal(name)}`,
      );
      const steps: Step[] = [];
      const alter = `ALTER EXTENSION ${identifier(name)}`;
      if (found === undefined) {
        const options = [
          ...(schema === undefined ? [] : [`SCHEMA ${identifier(schema)}`]),
          ...(version === undefined ? [] : [`VERSION ${identifier(version)}`]),
        ];
        const statement = `CREATE EXTENSION ${identifier(name)} ${options.join(" ")}`;
        const run = () => server.run(`create the extension ${name}`, [statement]);
        steps.push({ changes: { [name]: "installed" }, run });
      } else {
        if (version !== undefined && version !== found.version) {
          const run = () => server.run(`update ${name}`, [`${alter} UPDATE TO ${identifier(version)}`]);
          steps.push({ changes: { version: { old: found.version, new: version } }, run });
        }
        if (schema !== undefined && schema !== found.schema) {
          const run = () => server.run(`move ${name}`, [`${alter} SET SCHEMA ${identifier(schema)}`]);
          steps.push({ changes: { schema: { old: found.schema, new: schema } }, run });
        }
      }
      return planSteps(
        steps,
        says(
          `the extension ${name}`,
          found === undefined ? "installed" : "changed",
          `the extension ${name} is installed`,
        ),
      );
    },
  }),
  defineState({
    name: "postgres_extension.absent",
    doc: "Ensures that an extension is not installed in the database maintenance_db.",
    args: { cascade, ...connectionArgs },
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const server = await openPostgres(args, context);
      const found = await server.rows(`SELECT 1 AS found FROM pg_extension WHERE extname = ${literal(name)}`);
      if (found.length === 0) return unchanged(`the extension ${name} is not installed`);
      const statement = `DROP EXTENSION ${identifier(name)}${args.cascade === true ? " CASCADE" : ""}`;
      return planSteps(
        [{ changes: { [name]: "removed" }, run: () => server.run(`remove ${name}`, [statement]) }],
        says(`the extension ${name}`, "removed"),
      );
    },
  }),
]);

/** States of schemas of PostgreSQL. */
export const schemaStates: readonly StateFunction[] = deferring([
  defineState({
    name: "postgres_schema.present",
    doc: "Ensures that a schema exists in a database.",
    args: {
      dbname: arg.string("Database.", { required: true }),
      owner: arg.string("Owner; the role that connects by default."),
      ...connectionArgs,
    },
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const { dbname, owner } = args;
      const server = await openPostgres({ ...args, maintenance_db: dbname }, context);
      const [found] = await server.rows<{ owner: string }>(
        `SELECT pg_get_userbyid(nspowner)::text AS owner FROM pg_namespace WHERE nspname = ${literal(name)}`,
      );
      const authorization = owner === undefined ? "" : ` AUTHORIZATION ${identifier(owner)}`;
      const steps: Step[] = [];
      if (found === undefined) {
        const statement = `CREATE SCHEMA ${identifier(name)}${authorization}`;
        steps.push({ changes: { [name]: "created" }, run: () => server.run(`create ${name}`, [statement]) });
      } else if (owner !== undefined && owner !== found.owner) {
        const statement = `ALTER SCHEMA ${identifier(name)} OWNER TO ${identifier(owner)}`;
        const run = () => server.run(`change the owner of ${name}`, [statement]);
        steps.push({ changes: { owner: { old: found.owner, new: owner } }, run });
      }
      return planSteps(
        steps,
        says(
          `the schema ${name}`,
          found === undefined ? "created" : "changed",
          `the schema ${name} is as requested`,
        ),
      );
    },
  }),
  defineState({
    name: "postgres_schema.absent",
    doc: "Ensures that a schema does not exist in a database. One with objects is removed only with cascade.",
    args: { dbname: arg.string("Database.", { required: true }), cascade, ...connectionArgs },
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const server = await openPostgres({ ...args, maintenance_db: args.dbname }, context);
      const found = await server.rows(`SELECT 1 AS found FROM pg_namespace WHERE nspname = ${literal(name)}`);
      if (found.length === 0) return unchanged(`the schema ${name} does not exist`);
      const statement = `DROP SCHEMA ${identifier(name)}${args.cascade === true ? " CASCADE" : ""}`;
      return planSteps(
        [{ changes: { [name]: "removed" }, run: () => server.run(`remove ${name}`, [statement]) }],
        says(`the schema ${name}`, "removed"),
      );
    },
  }),
]);
