import type { Plain } from "../../../base/msgpack.ts";
import { arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { deferring } from "../not-ready.ts";
import { planSteps, refuseWith, type Step, says } from "../steps.ts";
import { containerArgs, containerBody } from "./container-config.ts";
import { containerDifference } from "./container-difference.ts";
import { networkDifference, wantedNetworks } from "./container-networks.ts";
import { type Engine, engineArgs, isJson, type Json, nameProblem, openEngine, part } from "./engine.ts";
import { imageId, imageName, imageProblem, pull } from "./image.ts";

const shutdown = arg.any("Seconds until a container that stops is killed; 10 by default.");
const accepted = (doc: string) => arg.any(`Accepted for trees of Salt: ${doc}.`);

/** A container that ends sooner did not start as it should. */
const settleMs = 1_000;

/** Connects a container to a network; one that is connected in another way is disconnected first. */
function connectStep(options: {
  engine: Engine;
  name: string;
  network: ReturnType<typeof wantedNetworks>[number];
  differs: readonly string[];
  isNew: boolean;
}): Step {
  const { engine, name, network, differs, isNew } = options;
  const isInside = differs[0] !== "connected";
  const at = `/networks/${part(network.name)}`;
  return {
    changes: isNew ? {} : { [network.name]: isInside ? { reconnected: [...differs] } : "connected" },
    async run() {
      if (isInside) {
        await engine.send(`disconnect ${name} from ${network.name}`, "POST", `${at}/disconnect`, {
          Container: name,
        });
      }
      await engine.send(`connect ${name} to ${network.name}`, "POST", `${at}/connect`, {
        Container: name,
        EndpointConfig: network.endpoint,
      });
    },
  };
}

/** States of containers of Docker. */
export const containerStates: readonly StateFunction[] = deferring([
  defineState({
    name: "docker_container.running",
    doc: "Ensures that a container runs with this configuration. One with another configuration or an older image is replaced.",
    args: {
      image: arg.string("Image; it is pulled if it is not on the host.", { required: true }),
      ...containerArgs,
      force: arg.boolean("Replaces the container on each run; false by default."),
      start: arg.boolean("Starts the container; true by default."),
      shutdown_timeout: shutdown,
      detach: accepted("containers always run in the background"),
      replace: accepted("a container with this name is always the one"),
      skip_translate: accepted("arguments are those of this table"),
      ignore_collisions: accepted("an argument and its other name are not given together"),
      validate_ip_addrs: accepted("Docker checks addresses"),
      watch_action: accepted("a container is replaced when its configuration changes"),
      ...engineArgs,
    },
    async plan(name, args, context) {
      const image = imageName(args.image, undefined);
      refuseWith(nameProblem(name) ?? imageProblem(image));
      const body = containerBody(
        image,
        Object.fromEntries(Object.keys(containerArgs).map((key) => [key, (args as Given)[key]])),
      );
      const networks = wantedNetworks(args.networks ?? []);
      const engine = openEngine(args, context);
      const found = await engine.get(`/containers/${part(name)}/json`);
      const isRunning = isJson(found?.State) && found.State.Running === true;
      const wantedImage = await imageId(engine, image);
      const { reasons, unlimited } =
        found === undefined
          ? { reasons: [], unlimited: [] }
          : await containerDifference(engine, found, body, wantedImage);
      if (args.force === true && found !== undefined) reasons.push("force");
      const path = `/containers/${part(name)}`;
      const steps: Step[] = [];
      if (wantedImage === undefined)
        steps.push({ changes: { [image]: "pulled" }, run: () => pull(engine, image, context) });
      if (found !== undefined && reasons.length > 0) {
        steps.push({
          changes: { [name]: { replaced: reasons } },
          async run() {
            if (isRunning) await stop(engine, name, args.shutdown_timeout);
            await engine.send(`remove the container ${name}`, "DELETE", path);
          },
        });
      }
      const isNew = found === undefined || reasons.length > 0;
      if (isNew) {
        steps.push({
          changes: found === undefined ? { [name]: "created" } : {},
          async run() {
            await engine.send(
              `create the container ${name}`,
              "POST",
              `/containers/create?name=${part(name)}`,
              body,
            );
          },
        });
      }
      for (const network of networks) {
        const differs = isNew ? ["connected"] : networkDifference(network, found ?? {});
        if (differs.length > 0) steps.push(connectStep({ engine, name, network, differs, isNew }));
      }
      if ((isNew || !isRunning) && args.start !== false) {
        steps.push({
          changes: isNew ? {} : { [name]: "started" },
          async run() {
            await engine.send(`start the container ${name}`, "POST", `${path}/start`);
            const code = await engine.exitWithin(name, settleMs);
            if (code !== undefined)
              throw new StateFailure(`the container ${name} ended at once with ${code}`);
          },
        });
      }
      const verb = doneTo(found, reasons, isRunning || args.start === false);
      const without = unlimited.length === 0 ? "" : `; this host cannot limit ${unlimited.join(", ")}`;
      return planSteps(
        steps,
        says(`the container ${name}`, verb, `the container ${name} is as requested${without}`),
      );
    },
  }),
  defineState({
    name: "docker_container.stopped",
    doc: "Ensures that containers do not run.",
    args: {
      containers: arg.strings("Several containers in place of the name."),
      shutdown_timeout: shutdown,
      error_on_absent: arg.boolean("Fails when a container does not exist; true by default."),
      ...engineArgs,
    },
    async plan(name, args, context) {
      const { containers = [name], error_on_absent = true } = args;
      const engine = openEngine(args, context);
      const steps: Step[] = [];
      for (const each of containers) {
        refuseWith(nameProblem(each));
        const found = await engine.get(`/containers/${part(each)}/json`);
        if (found === undefined && error_on_absent)
          throw new StateFailure(`the container ${each} does not exist`);
        if (!isJson(found?.State) || found.State.Running !== true) continue;
        steps.push({ changes: { [each]: "stopped" }, run: () => stop(engine, each, args.shutdown_timeout) });
      }
      return planSteps(steps, {
        fine: `${containers.join(", ")}: not running`,
        due: `${containers.join(", ")}: would be stopped`,
        done: `${containers.join(", ")}: stopped`,
      });
    },
  }),
  defineState({
    name: "docker_container.absent",
    doc: "Ensures that a container does not exist. Its volumes stay.",
    args: {
      force: arg.boolean("Also removes a container that runs; false by default."),
      ...engineArgs,
    },
    async plan(name, args, context) {
      refuseWith(nameProblem(name));
      const engine = openEngine(args, context);
      const found = await engine.get(`/containers/${part(name)}/json`);
      if (isJson(found?.State) && found.State.Running === true && args.force !== true) {
        throw new StateFailure(`the container ${name} runs: stop it first, or set force: true`);
      }
      const path = `/containers/${part(name)}?force=${args.force === true}`;
      const run = async () => void (await engine.send(`remove the container ${name}`, "DELETE", path));
      return planSteps(
        found === undefined ? [] : [{ changes: { [name]: "removed" }, run }],
        says(`the container ${name}`, "removed", `the container ${name} does not exist`),
      );
    },
  }),
]);

type Given = Readonly<Record<string, Plain | undefined>>;

function doneTo(found: Json | undefined, reasons: readonly string[], isFine: boolean): string {
  if (found === undefined) return "created";
  return reasons.length > 0 ? "replaced" : isFine ? "connected" : "started";
}

async function stop(engine: Engine, name: string, timeout: unknown): Promise<void> {
  const seconds = Number.isSafeInteger(timeout) ? Number(timeout) : 10;
  await engine.send(`stop the container ${name}`, "POST", `/containers/${part(name)}/stop?t=${seconds}`);
}
