import { quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import { type System, succeed, systemOf } from "../../../host/system/system.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { deferring, NotReady } from "../not-ready.ts";
import { editFile } from "../sources/file-step.ts";
import { planSteps, type Step, says } from "../steps.ts";

const configPath = "/etc/selinux/config";
/** Relabeled files that a result names. */
const maxListed = 100;
const slow = { timeoutMs: 5 * 60_000, outputLimit: 8 * 1024 * 1024 };
const typeName = /^[a-z_][a-z0-9_]*$/;
/** Types of files, as semanage takes and prints them. */
const fileTypes: Readonly<Record<string, string>> = {
  ...{ a: "all files", f: "regular file", d: "directory", c: "character device" },
  ...{ b: "block device", s: "socket", l: "symbolic link", p: "named pipe" },
};
const filetype = arg.string("Type of files: a (all), f, d, c, b, s, l or p; a by default.", {
  values: Object.keys(fileTypes),
});

/** States of SELinux. */
export const selinuxStates: readonly StateFunction[] = deferring([
  defineState({
    name: "selinux.mode",
    doc: "Ensures the mode of SELinux, now and after a reboot: enforcing, permissive or disabled.",
    args: {},
    async plan(name, _, context) {
      const system = systemOf(context);
      const wanted = name.toLowerCase();
      if (!["enforcing", "permissive", "disabled"].includes(wanted)) {
        throw new StateFailure("the name of the state is the mode: enforcing, permissive or disabled");
      }
      need(system, "getenforce");
      const now = (await succeed(system, "read the mode", ["getenforce"])).trim().toLowerCase();
      const steps: Step[] = [];
      // Only a reboot changes whether SELinux is disabled.
      if (now !== wanted && now !== "disabled" && wanted !== "disabled") {
        const argv = ["setenforce", wanted === "enforcing" ? "1" : "0"];
        steps.push({
          changes: { mode: { old: now, new: wanted } },
          run: async () => void (await succeed(system, "set the mode", argv)),
        });
      }
      const edit = (text: string) =>
        /^SELINUX=/m.test(text)
          ? text.replace(/^SELINUX=.*$/m, (line) =>
              line === `SELINUX=${wanted}` ? line : `SELINUX=${wanted}`,
            )
          : `${text}SELINUX=${wanted}\n`;
      steps.push(...(await editFile(system, configPath, edit)));
      return planSteps(steps, says("SELinux", `set to ${wanted}`, `SELinux is ${wanted}`));
    },
  }),
  defineState({
    name: "selinux.boolean",
    doc: "Ensures the value of a boolean of the policy.",
    args: {
      value: arg.any("The value: true or on, false or off.", { required: true }),
      persist: arg.boolean("Also keeps the value after a reboot; false by default."),
    },
    refuse: ({ value }) =>
      switchOf(value) === undefined ? "value: expected true, false, on or off" : undefined,
    async plan(name, { value, persist = false }, context) {
      const system = systemOf(context);
      need(system, "getsebool");
      const wanted = switchOf(value) ?? "off";
      if (!typeName.test(name)) throw new StateFailure(`${quote(name)} is not a boolean`);
      const [, now] = /--> (on|off)/.exec(await succeed(system, `read ${name}`, ["getsebool", name])) ?? [];
      const kept = persist && system.has("semanage") ? await keptValue(system, name) : now;
      const argv = ["setsebool", ...(persist ? ["-P"] : []), name, wanted];
      const run = async () => void (await succeed(system, `set ${name}`, argv, slow));
      const changes = { [name]: { old: now ?? "", new: wanted, ...(persist ? { persist } : {}) } };
      return planSteps(
        now === wanted && kept === wanted ? [] : [{ changes, run }],
        says(name, `set to ${wanted}`, `${name} is ${wanted}`),
      );
    },
  }),
  defineState({
    name: "selinux.port_policy_present",
    doc: "Ensures that a port has a type. The name is protocol/port, such as tcp/8080.",
    args: {
      sel_type: arg.string("Type, such as http_port_t.", { required: true }),
      protocol: arg.string("Protocol; that of the name by default.", { values: ["tcp", "udp"] }),
      port: arg.any("Port or range; that of the name by default."),
    },
    refuse: ({ sel_type }) =>
      typeName.test(sel_type) ? undefined : "sel_type: expected a type, such as http_port_t",
    async plan(name, { sel_type, protocol, port }, context) {
      const system = systemOf(context);
      const wanted = portOf(name, protocol, port);
      const ports = await portTypes(system);
      const now = ports.filter(
        (each) => each.protocol === wanted.protocol && each.ports.includes(wanted.port),
      );
      const [first] = now;
      const isSet = now.some(({ type }) => type === sel_type);
      const verb = first === undefined ? "-a" : "-m";
      const argv = ["semanage", "port", verb, "-t", sel_type, "-p", wanted.protocol, wanted.port];
      const run = async () => void (await succeed(system, `set the type of ${name}`, argv, slow));
      const changes = { [`${wanted.protocol}/${wanted.port}`]: { old: first?.type ?? "", new: sel_type } };
      return planSteps(isSet ? [] : [{ changes, run }], {
        fine: `${name} is ${sel_type}`,
        due: `${name} would be ${sel_type}`,
        done: `${name} is ${sel_type} now`,
      });
    },
  }),
  defineState({
    name: "selinux.port_policy_absent",
    doc: "Ensures that a port has no type of its own. The name is protocol/port, such as tcp/8080.",
    args: {
      sel_type: arg.string("Only this type; any by default."),
      protocol: arg.string("Protocol; that of the name by default.", { values: ["tcp", "udp"] }),
      port: arg.any("Port or range; that of the name by default."),
    },
    async plan(name, { sel_type, protocol, port }, context) {
      const system = systemOf(context);
      const wanted = portOf(name, protocol, port);
      // The types of the policy itself cannot be removed.
      const found = (await portTypes(system, true)).find(
        (each) =>
          each.protocol === wanted.protocol &&
          each.ports.includes(wanted.port) &&
          (sel_type === undefined || each.type === sel_type),
      );
      const argv = ["semanage", "port", "-d", "-p", wanted.protocol, wanted.port];
      const run = async () => void (await succeed(system, `remove the type of ${name}`, argv, slow));
      const steps = found === undefined ? [] : [{ changes: { [name]: { old: found.type, new: "" } }, run }];
      return planSteps(steps, says(`the type of ${name}`, "removed", `${name} has no type of its own`));
    },
  }),
  defineState({
    name: "selinux.fcontext_policy_present",
    doc: "Ensures the context that files have by their path. The name is a regular expression of paths.",
    args: {
      sel_type: arg.string("Type, such as httpd_sys_content_t.", { required: true }),
      filetype,
      sel_user: arg.string("User of SELinux; that of the policy by default."),
      sel_level: arg.string("Level; that of the policy by default."),
    },
    refuse: ({ sel_type, sel_user = "system_u", sel_level = "s0" }) =>
      [sel_type, sel_user].every((word) => typeName.test(word)) && /^s[0-9:.,c-]+$/.test(sel_level)
        ? undefined
        : "sel_type, sel_user or sel_level is not valid",
    async plan(name, { sel_type, filetype: kind = "a", sel_user, sel_level }, context) {
      const system = systemOf(context);
      const now = await fileContext(system, pathPattern(name), kind);
      const [user, , type, ...level] = now?.context.split(":") ?? [];
      const isSet =
        type === sel_type &&
        (sel_user === undefined || sel_user === user) &&
        (sel_level === undefined || sel_level === level.join(":"));
      const argv = [
        ...["semanage", "fcontext", now?.isLocal === true ? "-m" : "-a", "-f", kind, "-t", sel_type],
        ...(sel_user === undefined ? [] : ["-s", sel_user]),
        ...(sel_level === undefined ? [] : ["-r", sel_level]),
        name,
      ];
      const run = async () => void (await succeed(system, `set the context of ${name}`, argv, slow));
      return planSteps(
        isSet ? [] : [{ changes: { [name]: { old: now?.context ?? "", new: sel_type } }, run }],
        {
          fine: `files of ${name} have the type ${sel_type}`,
          due: `files of ${name} would have the type ${sel_type}`,
          done: `files of ${name} have the type ${sel_type} now`,
        },
      );
    },
  }),
  defineState({
    name: "selinux.fcontext_policy_absent",
    doc: "Ensures that files have no context of their own by their path.",
    args: { filetype },
    async plan(name, { filetype: kind = "a" }, context) {
      const system = systemOf(context);
      const now = await fileContext(system, pathPattern(name), kind);
      const argv = ["semanage", "fcontext", "-d", "-f", kind, name];
      const run = async () => void (await succeed(system, `remove the context of ${name}`, argv, slow));
      const steps =
        now?.isLocal === true ? [{ changes: { [name]: { old: now.context, new: "" } }, run }] : [];
      return planSteps(steps, says(`the context of ${name}`, "removed", `${name} has no context of its own`));
    },
  }),
  defineState({
    name: "selinux.fcontext_policy_applied",
    doc: "Ensures that files have the context that the policy gives their path.",
    args: { recursive: arg.boolean("Also of everything below; false by default.") },
    async plan(name, { recursive = false }, context) {
      const system = systemOf(context);
      need(system, "restorecon");
      const options = recursive ? ["-R"] : [];
      const probe = ["restorecon", "-n", "-v", ...options, pathPattern(name)];
      const lines = (await succeed(system, `look at ${name}`, probe, slow)).split("\n");
      const due = lines.flatMap((line) => {
        const [, path = "", from = "", to = ""] =
          /^(?:Would relabel|Relabeled|restorecon reset) (.+?)(?: context)? (?:from )?(\S+?)(?: to |->)(\S+)$/.exec(
            line,
          ) ?? [];
        return path === "" ? [] : [[path, { old: from, new: to }] as const];
      });
      const run = async () =>
        void (await succeed(system, `relabel ${name}`, ["restorecon", ...options, name], slow));
      const changes = Object.fromEntries(due.slice(0, maxListed));
      return planSteps(due.length === 0 ? [] : [{ changes, run }], {
        fine: `the context of ${name} is as the policy says`,
        due: `${due.length} contexts would be set`,
        done: `${due.length} contexts were set`,
      });
    },
  }),
]);

function need(system: System, program: string): void {
  if (!system.has(program)) throw new NotReady(`${program} is not installed on this host`);
}

function switchOf(value: unknown): "on" | "off" | undefined {
  if (value === true || value === 1 || value === "on" || value === "true" || value === "1") return "on";
  return value === false || value === 0 || value === "off" || value === "false" || value === "0"
    ? "off"
    : undefined;
}

/** The value after a reboot: the second one in `(off  ,   off)`. */
async function keptValue(system: System, name: string): Promise<string | undefined> {
  const list = await succeed(system, "list the booleans", ["semanage", "boolean", "-l", "-n"], slow);
  return new RegExp(`^${name}\\s+\\(\\s*\\w+\\s*,\\s*(\\w+)\\s*\\)`, "m").exec(list)?.[1];
}

function portOf(
  name: string,
  protocol: string | undefined,
  port: unknown,
): { protocol: string; port: string } {
  const [first = "", second = ""] = name.split("/");
  const found = { protocol: protocol ?? first, port: String(port ?? second) };
  const isValid = /^(?:tcp|udp)$/.test(found.protocol) && /^\d{1,5}(?:-\d{1,5})?$/.test(found.port);
  if (isValid) return found;
  throw new StateFailure("expected a name such as tcp/8080, or protocol and port");
}

async function portTypes(system: System, local = false) {
  need(system, "semanage");
  const argv = ["semanage", "port", "-l", "-n", ...(local ? ["-C"] : [])];
  return (await succeed(system, "list the ports", argv, slow)).split("\n").flatMap((line) => {
    const [, type = "", protocol = "", ports = ""] = /^(\S+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    return type === "" ? [] : [{ type, protocol, ports: ports.split(",").map((each) => each.trim()) }];
  });
}

function pathPattern(name: string): string {
  if (/^\/[^\n\0\s]*$/.test(name)) return name;
  throw new StateFailure(`${quote(name)} is not an absolute path`);
}

async function fileContext(system: System, path: string, kind: string) {
  need(system, "semanage");
  const find = async (options: readonly string[]) => {
    const argv = ["semanage", "fcontext", "-l", "-n", ...options];
    const lines = (await succeed(system, "list the contexts", argv, slow)).split("\n");
    const line = lines.find(
      (each) =>
        each.startsWith(`${path} `) &&
        each
          .slice(path.length)
          .trim()
          .startsWith(fileTypes[kind] ?? ""),
    );
    return line?.trim().split(/\s+/).at(-1);
  };
  const own = await find(["-C"]);
  const context = own ?? (await find([]));
  return context === undefined ? undefined : { context, isLocal: own !== undefined };
}
