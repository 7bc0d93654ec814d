import { arg } from "../../../host/modules/mod.ts";
import { defineState, type StateFunction } from "../../function/mod.ts";
import { deferring } from "../not-ready.ts";
import { planSteps, refuseWith, type Step, says, unchanged } from "../steps.ts";
import { connectionArgs, identifier, literal, nameProblem, openMysql } from "./client.ts";

const word = /^[A-Za-z0-9_]+$/;

/** States of databases of MySQL and MariaDB. */
export const databaseStates: readonly StateFunction[] = deferring([
  defineState({
    name: "mysql_database.present",
    doc: "Ensures that a database exists.",
    args: {
      character_set: arg.string("Default character set, such as utf8mb4."),
      collate: arg.string("Default collation, such as utf8mb4_unicode_ci."),
      ...connectionArgs,
    },
    refuse: ({ character_set = "a", collate = "a" }) =>
      word.test(character_set) && word.test(collate) ? undefined : "character_set or collate is not valid",
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const { character_set: charset, collate } = args;
      const server = await openMysql(args, context);
      const [found] = await server.rows(
        `SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA
         WHERE SCHEMA_NAME = ${literal(name)}`,
      );
      const options = [
        ...(charset === undefined ? [] : [`CHARACTER SET ${charset}`]),
        ...(collate === undefined ? [] : [`COLLATE ${collate}`]),
      ].join(" ");
      const steps: Step[] = [];
      if (found === undefined) {
        const run = () => server.run(`create ${name}`, [`CREATE DATABASE ${identifier(name)} ${options}`]);
        steps.push({ changes: { [name]: "created" }, run });
      } else {
        const [nowCharset = "", nowCollate = ""] = found;
        const changes = {
          ...(charset === undefined || charset === nowCharset
            ? {}
            : { character_set: { old: nowCharset, new: charset } }),
          ...(collate === undefined || collate === nowCollate
            ? {}
            : { collate: { old: nowCollate, new: collate } }),
        };
        const run = () => server.run(`change ${name}`, [`ALTER DATABASE ${identifier(name)} ${options}`]);
        if (Object.keys(changes).length > 0) steps.push({ changes, run });
      }
      return planSteps(
        steps,
        says(
          `the database ${name}`,
          found === undefined ? "created" : "changed",
          `the database ${name} is as requested`,
        ),
      );
    },
  }),
  defineState({
    name: "mysql_database.absent",
    doc: "Ensures that a database does not exist. Its data is lost.",
    args: connectionArgs,
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const server = await openMysql(args, context);
      const found = await server.rows(
        `SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ${literal(name)}`,
      );
      if (found.length === 0) return unchanged(`the database ${name} does not exist`);
      const run = () => server.run(`remove ${name}`, [`DROP DATABASE ${identifier(name)}`]);
      return planSteps([{ changes: { [name]: "removed" }, run }], says(`the database ${name}`, "removed"));
    },
  }),
]);
