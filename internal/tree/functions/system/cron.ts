import { createHash } from "node:crypto";
import { quote } from "../../../base/cut.ts";
import { defined } from "../../../base/defined.ts";
import { shownText } from "../../../base/files/byte-text.ts";
import { keepLineEnds } from "../../../base/files/line-ends.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { arg } from "../../../host/modules/mod.ts";
import { localUsers } from "../../../host/system/accounts/mod.ts";
import {
  type CronEntry,
  type Crontab,
  parseCrontab,
  readCrontab,
  writeCrontab,
} from "../../../host/system/crontab.ts";
import { type System, systemOf } from "../../../host/system/system.ts";
import {
  type Changes,
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { planSteps, refuseWith, says, unchanged } from "../steps.ts";

const user = arg.string("Owner of the crontab; root by default.");
const identifier = arg.string(
  "Identifies the entry, so that its command can change; the command itself by default.",
);
const field = (doc: string) =>
  arg.any(`${doc}; * by default. With random, each host and entry has a time of its own.`);
const fields = ["minute", "hour", "daymonth", "month", "dayweek"] as const;
const specials = ["@reboot", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/** States of crontabs. They do not change entries written by others. */
export const cronStates: readonly StateFunction[] = [
  defineState({
    name: "cron.present",
    doc: "Ensures that a crontab has an entry that runs a command.",
    args: {
      user,
      minute: field("Minutes"),
      hour: field("Hours"),
      daymonth: field("Days of the month"),
      month: field("Months"),
      dayweek: field("Days of the week"),
      special: arg.string("Replaces the time fields.", { values: specials }),
      identifier,
      comment: arg.string("A comment line above the entry."),
      commented: arg.boolean("Keeps the entry, and cron does not run it; false by default."),
    },
    refuse(args) {
      const given = fields.filter((name) => args[name] !== undefined);
      if (args.special !== undefined && given.length > 0) return `give either special or ${given.join(", ")}`;
      const wrong = given.find((name) => !isField(args[name]));
      if (wrong !== undefined) return `${wrong}: expected a number, or text such as */5 or 1-5`;
      return refuseLine("comment", args.comment) ?? refuseLine("identifier", args.identifier);
    },
    plan(name, { user = "root", special, identifier = name, comment, commented, ...times }, context) {
      refuseWith(refuseLine("name", name));
      const host = `${context.facts.get("id")} ${identifier}`;
      const schedule = special ?? fields.map((each) => timeOf(times[each], each, host)).join(" ");
      const disabled = commented === true ? (true as const) : undefined;
      const entry = { identifier, schedule, command: name, ...defined({ comment, disabled }) };
      const own = commandOf(name, context);
      return planEdit(user, context, (crontab) => {
        const found = crontab.find(identifier, own);
        const isSame = found?.schedule === schedule && found.command === name && found.comment === comment;
        const isNamed = found?.identifier === identifier && !crontab.isRepeated(identifier);
        if (isSame && isNamed && found.disabled === disabled) return {};
        crontab.set(entry, own);
        return { [identifier]: { old: found === undefined ? "" : shown(found), new: shown(entry) } };
      });
    },
  }),
  defineState({
    name: "cron.absent",
    doc: "Ensures that a crontab has no entry with this identifier, and none without any that runs this command.",
    args: { user, identifier },
    plan(name, { user = "root", identifier = name }, context) {
      return planEdit(user, context, (crontab) => {
        const found = crontab.find(identifier, name);
        if (found === undefined) return {};
        crontab.remove(identifier, name);
        return { [identifier]: { old: shown(found), new: "" } };
      });
    },
  }),
  defineState({
    name: "cron.env_present",
    doc: "Ensures that a crontab sets a variable for its entries.",
    args: { user, value: arg.string("The value. It is written in quotes.", { required: true }) },
    refuse: ({ value }) =>
      refuseLine("value", value) ??
      (value.includes('"') ? "value: must not contain a double quote" : undefined),
    plan(name, { user = "root", value }, context) {
      refuseWith(refuseVariable(name));
      return planEdit(user, context, (crontab) => {
        const old = crontab.variable(name);
        if (old === value) return {};
        crontab.setVariable(name, value);
        return { [name]: { old: old ?? "", new: value } };
      });
    },
  }),
  defineState({
    name: "cron.env_absent",
    doc: "Ensures that a crontab does not set a variable.",
    args: { user },
    plan(name, { user = "root" }, context) {
      refuseWith(refuseVariable(name));
      return planEdit(user, context, (crontab) => {
        const old = crontab.variable(name);
        if (old === undefined) return {};
        crontab.setVariable(name, undefined);
        return { [name]: { old, new: "" } };
      });
    },
  }),
];

/**
 * The command by which an entry without an identifier is taken over; `undefined` if another state of the run may mean
 * that entry.
 */
function commandOf(name: string, { described }: StateContext): string | undefined {
  const same = described.filter((each) => each.function === "cron.present" && each.name === name);
  return same.length > 1 ? undefined : name;
}

function shown({ schedule, command, disabled }: CronEntry): string {
  return shownText(`${disabled ? "disabled: " : ""}${schedule} ${command}`);
}

/**
 * Plans an edit of a crontab. The edit returns its changes, and is repeated on the current crontab when it is
 * applied.
 */
async function planEdit(
  user: string,
  context: StateContext,
  edit: (crontab: Crontab) => Changes,
): Promise<Plan> {
  const system = systemOf(context);
  // An earlier state may create the user, or install cron; until then the crontab counts as empty.
  const isThere = system.has("crontab") && (localUsers(system).has(user) || user === "root");
  const changes = edit(parseCrontab(isThere ? await readCrontab(system, user) : ""));
  if (Object.keys(changes).length === 0) return unchanged(`the crontab of ${user} is in the desired state`);
  const run = async () => {
    requireUser(system, user);
    const edited = keepLineEnds(await readCrontab(system, user), (text) => {
      const crontab = parseCrontab(text);
      edit(crontab);
      return crontab.text();
    });
    await writeCrontab(system, user, edited);
  };
  return planSteps([{ changes, run }], says(`the crontab of ${user}`, "changed"));
}

function requireUser(system: System, user: string): void {
  system.forget();
  if (!localUsers(system).has(user)) throw new StateFailure(`user ${user} does not exist on this host`);
}

/** The values that a random field has. Days stop at 28, which every month has. */
const ranges: Readonly<Record<(typeof fields)[number], readonly [from: number, count: number]>> = {
  minute: [0, 60],
  hour: [0, 24],
  daymonth: [1, 28],
  month: [1, 12],
  dayweek: [0, 7],
};

/** @param own tells this entry of this host from others, so that `random` is the same in each run */
function timeOf(value: Plain | undefined, field: (typeof fields)[number], own: string): string {
  if (value !== "random") return String(value ?? "*");
  const [from, count] = ranges[field];
  return String(from + (createHash("sha256").update(`${field} ${own}`).digest().readUInt32BE(0) % count));
}

function isField(value: Plain | undefined): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0;
  return typeof value === "string" && /^[A-Za-z0-9*,/-]+$/.test(value);
}

function refuseLine(argument: string, value: string | undefined): string | undefined {
  if (value === undefined || !/[\n\r\0]/.test(value)) return undefined;
  return `${argument}: must not contain a line break`;
}

function refuseVariable(name: string): string | undefined {
  if (/^[A-Za-z_]\w*$/.test(name)) return undefined;
  return `${quote(name)} is not a valid variable name`;
}
