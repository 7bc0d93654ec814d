import { join } from "node:path";
import { arg } from "../../../host/modules/mod.ts";
import {
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { contentOf } from "../file/content.ts";
import { planFile } from "../file/plan-file.ts";
import { planSteps, unchanged } from "../steps.ts";

/** What libvirt reads for TLS, below the directory of keys (libvirt.org/kbase/tlscerts.html); the names are Salt's. */
const places = {
  serverkey: "libvirt/private/serverkey.pem",
  servercert: "libvirt/servercert.pem",
  clientkey: "libvirt/private/clientkey.pem",
  clientcert: "libvirt/clientcert.pem",
  cacert: "CA/cacert.pem",
} as const;

/** Salt's masters make keys with certtool. Here settings have them, made by the authority of the operator. */
const unused = arg.any("Accepted and ignored: no certificate is made here.");

/** States of libvirt. */
export const virtStates: readonly StateFunction[] = [
  defineState({
    name: "virt.keys",
    doc: "Ensures that the keys and certificates of libvirt are those of the settings libvirt.serverkey.pem, libvirt.servercert.pem, libvirt.clientkey.pem, libvirt.clientcert.pem and libvirt.cacert.pem. What settings do not have is left as it is.",
    args: {
      basepath: arg.path("Directory of the keys; /etc/pki by default."),
      country: unused,
      state: unused,
      locality: unused,
      organization: unused,
      expiration_days: unused,
    },
    plan: (_, { basepath = "/etc/pki" }, context) => planKeys(basepath, context),
  }),
];

async function planKeys(basepath: string, context: StateContext): Promise<Plan> {
  const plans: Plan[] = [];
  const settings = context.settings.current();
  const named = Object.entries(places).filter(([name]) => Object.hasOwn(settings, `libvirt.${name}.pem`));
  if (named.length === 0) return unchanged("settings have no keys of libvirt, such as libvirt.serverkey.pem");
  for (const [name, place] of named) {
    const text = settings[`libvirt.${name}.pem`];
    if (typeof text !== "string") throw new StateFailure(`the setting libvirt.${name}.pem is not a text`);
    // The directory is open to libvirt as well, so only the keys themselves are for root alone.
    const mode = name.endsWith("key") ? 0o600 : 0o644;
    plans.push(
      await planFile(
        {
          path: join(basepath, place),
          content: { ...contentOf(text), secret: true },
          attributes: { uid: undefined, gid: undefined, mode, missing: [] },
          makedirs: true,
        },
        context,
      ),
    );
  }
  const steps = plans.flatMap(({ changes, apply }) =>
    apply === undefined ? [] : [{ changes, run: async () => void (await apply()) }],
  );
  return planSteps(steps, {
    fine: "the keys of libvirt are those of the settings",
    due: "the keys of libvirt would be written",
    done: "the keys of libvirt were written",
  });
}
