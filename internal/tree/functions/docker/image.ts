import { quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import { defineState, type StateContext, type StateFunction } from "../../function/mod.ts";
import { deferring } from "../not-ready.ts";
import { planSteps, refuseWith, type Step, says } from "../steps.ts";
import { type Engine, engineArgs, openEngine, part } from "./engine.ts";
import { registryLogin } from "./registry-login.ts";

/** States of images of Docker. */
export const imageStates: readonly StateFunction[] = deferring([
  defineState({
    name: "docker_image.present",
    doc: "Ensures that an image is on the host; it is pulled from its registry. The name may contain a tag.",
    args: {
      tag: arg.any("Tag; that of the name, or latest, by default."),
      force: arg.boolean("Also pulls an image that is there, to get a newer one; false by default."),
      insecure_registry: arg.boolean("Accepted for trees of Salt: set it in the configuration of Docker."),
      ...engineArgs,
    },
    async plan(name, args, context) {
      const image = imageName(name, args.tag);
      refuseWith(imageProblem(image));
      const engine = openEngine(args, context);
      const now = await imageId(engine, image);
      const run = () => pull(engine, image, context);
      const isDue = now === undefined || args.force === true;
      if (now !== undefined && isDue) return planForced(engine, image, now, run);
      return planSteps(
        isDue ? [{ changes: { [image]: "pulled" }, run }] : [],
        says(`the image ${image}`, "pulled", `the image ${image} is there`),
      );
    },
  }),
  defineState({
    name: "docker_image.absent",
    doc: "Ensures that images are not on the host. One that a container uses is not removed without force.",
    args: {
      images: arg.strings("Several images in place of the name."),
      force: arg.boolean("Also removes an image in use; false by default."),
      ...engineArgs,
    },
    async plan(name, args, context) {
      const { images = [name], force = false } = args;
      const engine = openEngine(args, context);
      const steps: Step[] = [];
      for (const each of images) {
        const image = imageName(each, undefined);
        refuseWith(imageProblem(image));
        if ((await imageId(engine, image)) === undefined) continue;
        const path = `/images/${part(image)}?force=${force}`;
        const run = async () => void (await engine.send(`remove the image ${image}`, "DELETE", path));
        steps.push({ changes: { [image]: "removed" }, run });
      }
      return planSteps(steps, {
        fine: `${images.join(", ")}: not on this host`,
        due: `${images.join(", ")}: would be removed`,
        done: `${images.join(", ")}: removed`,
      });
    },
  }),
]);

/** Whether there is a newer image is known only after it is pulled: no change is reported when there was not. */
function planForced(engine: Engine, image: string, now: string, run: () => Promise<void>) {
  return {
    changes: { [image]: "pulled if there is a newer one" },
    comment: `the image ${image} would be pulled again`,
    async apply() {
      await run();
      const next = await imageId(engine, image);
      return next === now
        ? { changes: {}, comment: `the image ${image} is the newest` }
        : { changes: { [image]: { old: now, new: next ?? "" } }, comment: `the image ${image} was pulled` };
    },
  };
}

/** The name of an image with its tag. */
export function imageName(name: string, tag: unknown): string {
  if (tag !== undefined && tag !== null && tag !== "") return `${name}:${tag}`;
  return /[:@]/.test(name.slice(name.lastIndexOf("/") + 1)) ? name : `${name}:latest`;
}

export function imageProblem(image: string): string | undefined {
  if (/^[a-zA-Z0-9][\w.:/@-]{0,500}$/.test(image)) return undefined;
  return `${quote(image)} is not an image, such as nginx:1.27`;
}

/** @returns `undefined` when the image is not on the host */
export async function imageId(engine: Engine, image: string): Promise<string | undefined> {
  const found = await engine.get(`/images/${part(image)}/json`);
  return typeof found?.Id === "string" ? found.Id : undefined;
}

/** Pulls an image, with the credentials that the settings have for its registry. */
export async function pull(engine: Engine, image: string, context: StateContext): Promise<void> {
  const path = `/images/create?fromImage=${part(image)}`;
  await engine.send(`pull the image ${image}`, "POST", path, undefined, registryLogin(image, context));
}
