import { arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { deferring } from "../not-ready.ts";
import { planSteps, refuseWith, type Step, says, unchanged } from "../steps.ts";
import { connectionArgs, identifier, literal, nameProblem, openPostgres } from "./client.ts";

interface Database {
  owner: string;
  tablespace: string;
  encoding: string;
  lc_collate: string;
  lc_ctype: string;
}

/** States of databases of PostgreSQL. */
export const databaseStates: readonly StateFunction[] = deferring([
  defineState({
    name: "postgres_database.present",
    doc: "Ensures that a database exists.",
    args: {
      owner: arg.string("Owner; the role that connects by default."),
      owner_recurse: arg.boolean(
        "Also gives the new owner the objects of the previous one; false by default.",
      ),
      template: arg.string("Template of a new database; template1 by default."),
      encoding: arg.string("Encoding of a new database, such as UTF8."),
      lc_collate: arg.string("Collation of a new database."),
      lc_ctype: arg.string("Character classes of a new database."),
      tablespace: arg.string("Tablespace."),
      ...connectionArgs,
    },
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const { owner, owner_recurse = false, template, encoding, lc_collate, lc_ctype, tablespace } = args;
      const server = await openPostgres(args, context);
      const [found] = await server.rows<Database>(`SELECT pg_get_userbyid(d.datdba)::text AS owner,
        t.spcname::text AS tablespace, pg_encoding_to_char(d.encoding)::text AS encoding,
        d.datcollate::text AS lc_collate, d.datctype::text AS lc_ctype
        FROM pg_database d JOIN pg_tablespace t ON t.oid = d.dattablespace WHERE d.datname = ${literal(name)}`);
      const quoted = identifier(name);
      if (found === undefined) {
        const options = [
          ...(owner === undefined ? [] : [`OWNER = ${identifier(owner)}`]),
          ...(template === undefined ? [] : [`TEMPLATE = ${identifier(template)}`]),
          ...(encoding === undefined ? [] : [`ENCODING = ${literal(encoding)}`]),
          ...(lc_collate === undefined ? [] : [`LC_COLLATE = ${literal(lc_collate)}`]),
          ...(lc_ctype === undefined ? [] : [`LC_CTYPE = ${literal(lc_ctype)}`]),
          ...(tablespace === undefined ? [] : [`TABLESPACE = ${identifier(tablespace)}`]),
        ];
        const run = () =>
          server.run(`create the database ${name}`, [`CREATE DATABASE ${quoted} ${options.join(" ")}`]);
        return planSteps([{ changes: { [name]: "created" }, run }], says(`the database ${name}`, "created"));
      }
      for (const [what, wanted] of Object.entries({ encoding, lc_collate, lc_ctype })) {
        const now = found[what as "encoding" | "lc_collate" | "lc_ctype"];
        if (wanted !== undefined && plain(wanted) !== plain(now)) {
          throw new StateFailure(
            `the database ${name} has ${what} ${now}, which only a new database can change`,
          );
        }
      }
      const steps: Step[] = [];
      if (owner !== undefined && owner !== found.owner) {
        const recurse = `REASSIGN OWNED BY ${identifier(found.owner)} TO ${identifier(owner)}`;
        steps.push({
          changes: { owner: { old: found.owner, new: owner } },
          async run() {
            await server.run(`change the owner of ${name}`, [
              `ALTER DATABASE ${quoted} OWNER TO ${identifier(owner)}`,
            ]);
            if (!owner_recurse) return;
            const inside = await openPostgres({ ...args, maintenance_db: name }, context);
            await inside.run(`change the owner of what is in ${name}`, [recurse]);
          },
        });
      }
      if (tablespace !== undefined && tablespace !== found.tablespace) {
        const statement = `ALTER DATABASE ${quoted} SET TABLESPACE ${identifier(tablespace)}`;
        const run = () => server.run(`move ${name}`, [statement]);
        steps.push({ changes: { tablespace: { old: found.tablespace, new: tablespace } }, run });
      }
      return planSteps(
        steps,
        says(`the database ${name}`, "changed", `the database ${name} is as requested`),
      );
    },
  }),
  defineState({
    name: "postgres_database.absent",
    doc: "Ensures that a database does not exist. Its data is lost; one with connections is not removed.",
    args: connectionArgs,
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const server = await openPostgres(args, context);
      const found = await server.rows(`SELECT 1 AS found FROM pg_database WHERE datname = ${literal(name)}`);
      if (found.length === 0) return unchanged(`the database ${name} does not exist`);
      const run = () => server.run(`remove the database ${name}`, [`DROP DATABASE ${identifier(name)}`]);
      return planSteps([{ changes: { [name]: "removed" }, run }], says(`the database ${name}`, "removed"));
    },
  }),
]);

/** `utf8` and `UTF-8` are one encoding. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll("-", "");
}
