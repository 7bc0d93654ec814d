import { arg } from "../../../host/modules/mod.ts";
import { refuseServiceName, type ServiceManager, servicesOf } from "../../../host/system/services/mod.ts";
import { type System, systemOf } from "../../../host/system/system.ts";
import {
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { planSteps, refuseWith, type Step, says, unchanged } from "../steps.ts";

const enable = arg.boolean("Whether the service starts at boot; unchanged by default.");

/**
 * States of services. An earlier state may install a missing service, so a missing service fails only when
 * the state is applied.
 */
export const serviceStates: readonly StateFunction[] = [
  defineState({
    name: "service.running",
    doc: "Ensures that a service is running. It is restarted if a watched state has changed.",
    args: {
      enable,
      reload: arg.boolean("Reloads the service instead of restarting it; false by default."),
    },
    async plan(name, args, context) {
      const { system, services } = open(name, context);
      const status = services.exists(name) ? await services.status(name) : { active: false, state: "absent" };
      const steps: Step[] = [];
      if (!status.active) {
        refuseMasked(services, name);
        steps.push({
          changes: { [name]: { old: status.state, new: "running" } },
          run: () => start(system, services, name),
        });
      }
      steps.push(...enabling(system, services, name, args.enable));
      const missing = services.exists(name) ? "" : ` once it exists`;
      return planSteps(steps, {
        fine: `${name} is running`,
        due: `${name} would be ${status.active ? "changed" : "started"}${missing}`,
        done: `${name} was ${status.active ? "changed" : "started"}`,
      });
    },
    onWatch(name, args, context) {
      const { system, services } = open(name, context);
      const [action, done] = args.reload === true ? ["reload", "reloaded"] : ["restart", "restarted"];
      const run = async () => {
        requireService(services, name);
        await services.change(action === "reload" ? "reload" : "restart", name);
        await requireActive(system, services, name, done ?? "");
      };
      return planSteps([{ changes: { [name]: done ?? "" }, run }], says(name, done));
    },
  }),
  defineState({
    name: "service.dead",
    doc: "Ensures that a service is not running. A service that does not exist counts as stopped.",
    args: { enable },
    async plan(name, args, context) {
      const { system, services } = open(name, context);
      if (!services.exists(name)) return unchanged(`service ${name} does not exist`);
      const status = await services.status(name);
      const steps: Step[] = [];
      if (status.active) {
        const run = async () => {
          await services.change("stop", name);
          system.forget();
        };
        steps.push({ changes: { [name]: { old: status.state, new: "dead" } }, run });
      }
      steps.push(...enabling(system, services, name, args.enable));
      return planSteps(steps, says(name, status.active ? "stopped" : "changed", `${name} is not running`));
    },
  }),
  defineState({
    name: "service.enabled",
    doc: "Ensures that a service starts at boot.",
    args: {},
    plan: (name, _, context) => planEnabled(name, true, context),
  }),
  defineState({
    name: "service.disabled",
    doc: "Ensures that a service does not start at boot.",
    args: {},
    plan: (name, _, context) => planEnabled(name, false, context),
  }),
  defineState({
    name: "service.masked",
    doc: "Masks a systemd unit, so that nothing can start it.",
    args: {},
    plan: (name, _, context) => planMasked(name, true, context),
  }),
  defineState({
    name: "service.unmasked",
    doc: "Unmasks a systemd unit, so that it can be started.",
    args: {},
    plan: (name, _, context) => planMasked(name, false, context),
  }),
];

/** The steps that enable or disable a service at boot. */
export function enabling(
  system: System,
  services: ServiceManager,
  name: string,
  wanted: boolean | undefined,
): Step[] {
  const now = services.enablement(name);
  if (wanted === undefined || now === "static" || now === "masked" || (now === "enabled") === wanted)
    return [];
  const run = async () => {
    requireService(services, name);
    await services.change(wanted ? "enable" : "disable", name);
    system.forget();
  };
  return [{ changes: { [`${name} at boot`]: { old: now, new: wanted ? "enabled" : "disabled" } }, run }];
}

/** Starts a service and checks that it keeps running. @throws SvcError */
export async function start(system: System, services: ServiceManager, name: string): Promise<void> {
  requireService(services, name);
  await services.change("start", name);
  await requireActive(system, services, name, "started");
}

function open(name: string, context: StateContext): { system: System; services: ServiceManager } {
  refuseWith(refuseServiceName(name));
  const system = systemOf(context);
  return { system, services: servicesOf(system) };
}

function planEnabled(name: string, wanted: boolean, context: StateContext): Plan {
  const { system, services } = open(name, context);
  const now = services.exists(name) ? services.enablement(name) : undefined;
  if (now === undefined && !wanted) return unchanged(`service ${name} does not exist`);
  if (now === "static") return unchanged(`${name} is static: other units start it, and it cannot be enabled`);
  if (wanted) refuseMasked(services, name);
  const word = wanted ? "enabled" : "disabled";
  return planSteps(enabling(system, services, name, wanted), {
    fine: `${name} is ${now === "masked" ? "masked" : word}`,
    due: `${name} would be ${word}${now === undefined ? " once it exists" : ""}`,
    done: `${name} was ${word}`,
  });
}

function planMasked(name: string, wanted: boolean, context: StateContext): Plan {
  const { system, services } = open(name, context);
  const masked = services.exists(name) && services.enablement(name) === "masked";
  if (masked === wanted) return unchanged(`${name} is ${wanted ? "masked" : "not masked"}`);
  const word = wanted ? "masked" : "unmasked";
  const run = async () => {
    await services.change(wanted ? "mask" : "unmask", name);
    system.forget();
  };
  const changes = { [name]: { old: masked ? "masked" : "unmasked", new: word } };
  return planSteps([{ changes, run }], says(name, word));
}

function refuseMasked(services: ServiceManager, name: string): void {
  if (services.exists(name) && services.enablement(name) === "masked") {
    throw new StateFailure(`${name} is masked and cannot be started; use service.unmasked first`);
  }
}

function requireService(services: ServiceManager, name: string): void {
  if (!services.exists(name)) throw new StateFailure(`service ${name} does not exist (${services.name})`);
}

async function requireActive(
  system: System,
  services: ServiceManager,
  name: string,
  done: string,
): Promise<void> {
  system.forget();
  const { active, state } = await services.status(name);
  if (!active) throw new StateFailure(`${name} was ${done}, but is now ${state}`);
}
