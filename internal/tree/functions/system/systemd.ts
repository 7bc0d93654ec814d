import { quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import { reloadUnits, servicesOf, unitEnablement } from "../../../host/system/services/mod.ts";
import { systemOf } from "../../../host/system/system.ts";
import {
  defineState,
  describeChange,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { findHash } from "../sources/find-hash.ts";
import { findSource, refuseSource } from "../sources/source.ts";
import { sourceHashArgs } from "../sources/source-hash.ts";
import { fileVariables } from "../sources/template-variables.ts";
import { planSteps, refuseWith, type Step, says } from "../steps.ts";
import { enabling, start } from "./service.ts";

const directory = "/etc/systemd/system";

/** States of systemd units. */
export const systemdStates: readonly StateFunction[] = [
  defineState({
    name: "systemd.unit_managed",
    doc: "Ensures that a unit such as backup.timer has this unit file, and that systemd has loaded it.",
    args: {
      contents: arg.strings("Content of the unit file; a list has one line per item."),
      source: arg.strings("Source of the unit file, such as svc://units/backup.timer."),
      source_hash: sourceHashArgs.source_hash,
      template: arg.string("Renders the unit file with facts and settings.", { values: ["jinja"] }),
      context: arg.map("Variables of the template."),
      enable: arg.boolean("Whether the unit starts at boot; unchanged by default."),
      running: arg.boolean("Starts the unit if it is not running; false by default."),
    },
    refuse: ({ contents, source, source_hash }) =>
      (contents === undefined) === (source === undefined)
        ? "give either contents or source"
        : refuseSource(source ?? [], source_hash),
    async plan(name, args, context) {
      refuseWith(refuseUnit(name));
      const system = systemOf(context);
      const services = servicesOf(system);
      refuseWith(services.name === "systemd" ? undefined : "systemd: not running on this host");
      const isRunning = system.fact("init") === "systemd";
      const path = `${directory}/${name}`;
      const wanted = await textOf(path, args, context);
      const now = system.read(path);
      const steps: Step[] = [];
      if (now !== wanted) {
        const diff = await describeChange(
          path,
          now === undefined ? undefined : Buffer.from(now),
          Buffer.from(wanted),
        );
        steps.push({
          changes: { [path]: { diff } },
          async run() {
            refuseWith(unitEnablement(system, name) === "masked" ? `${name} is masked` : undefined);
            system.write(path, wanted);
            system.forget();
            if (isRunning) await reloadUnits(system);
          },
        });
      }
      steps.push(...enabling(system, services, name, args.enable));
      if (args.running === true && !(await services.status(name)).active) {
        steps.push({
          changes: { [name]: { old: "dead", new: "running" } },
          run: () => start(system, services, name),
        });
      }
      return planSteps(
        steps,
        says(`the unit ${name}`, "changed", `the unit ${name} is in the desired state`),
      );
    },
    onWatch(name, _, context) {
      const system = systemOf(context);
      const run = () => servicesOf(system).change("restart", name);
      return planSteps([{ changes: { [name]: "restarted" }, run }], says(name, "restarted"));
    },
  }),
];

interface TextArgs {
  contents: string[] | undefined;
  source: string[] | undefined;
  source_hash: string | undefined;
  template: string | undefined;
  context: Readonly<Record<string, unknown>> | undefined;
}

async function textOf(path: string, args: TextArgs, context: StateContext): Promise<string> {
  const found =
    args.source === undefined
      ? undefined
      : findSource(args.source, await findHash(args, args.source, context), context);
  const text =
    found === undefined
      ? (args.contents ?? []).join("\n")
      : new TextDecoder().decode(await found.content.bytes());
  const name = found?.name ?? "contents";
  const attributes = { user: "root", group: "root", mode: "0644" };
  const variables = {
    ...fileVariables(path, found?.name, attributes, context),
    ...args.context,
  } as Parameters<StateContext["render"]>[1];
  const rendered = args.template === undefined ? text : await context.render({ name, text }, variables);
  if (rendered.trim() === "") throw new StateFailure("the unit file is empty, which would mask the unit");
  return rendered.endsWith("\n") ? rendered : `${rendered}\n`;
}

function refuseUnit(name: string): string | undefined {
  if (
    /^[A-Za-z0-9_][A-Za-z0-9_.@:\\-]*\.(service|socket|timer|path|mount|automount|swap|target|slice)$/.test(
      name,
    )
  ) {
    return undefined;
  }
  return `${quote(name)} is not a valid unit name, such as backup.service`;
}
