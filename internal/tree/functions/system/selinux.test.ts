import { describe, expect, test } from "bun:test";
import { problemsOf } from "../../../../test/harness/planned-state.ts";
import { failureOf, settleState } from "../../../../test/harness/settle-state.ts";
import type { SystemFixture } from "../../../../test/harness/system.ts";

const programs = ["getenforce", "getsebool", "semanage", "restorecon"];

/** A host with SELinux; the lists are those of policycoreutils 3.4. */
function host(): SystemFixture {
  let mode = "Permissive";
  let boolean = ["off", "off"];
  const ports: string[] = [];
  const contexts: string[] = [];
  let label = "unconfined_u:object_r:default_t:s0";
  return {
    programs,
    files: { "/etc/selinux/config": "# comment\nSELINUX=permissive\nSELINUXTYPE=targeted\n" },
    answer([program = "", ...argv]) {
      const [verb, ...words] = argv;
      switch (program) {
        case "getenforce":
          return { stdout: `${mode}\n` };
        case "setenforce":
          mode = verb === "1" ? "Enforcing" : "Permissive";
          return {};
        case "getsebool":
          return { stdout: `${verb} --> ${boolean[0]}\n` };
        case "setsebool":
          boolean = verb === "-P" ? [words[1] ?? "", words[1] ?? ""] : [words[0] ?? "", boolean[1] ?? ""];
          return {};
        case "restorecon":
          if (argv.includes("-n")) {
            const due = label.includes("default_t");
            return {
              stdout: due ? `Would relabel /srv/www from ${label} to system_u:object_r:www_t:s0\n` : "",
            };
          }
          label = "system_u:object_r:www_t:s0";
          return {};
        default:
          break;
      }
      const isList = words.includes("-l") || argv.includes("-l");
      if (verb === "boolean")
        return { stdout: `httpd_can_connect (${boolean[0]}   ,  ${boolean[1]})  Allow\n` };
      if (verb === "port") {
        const own = ports.length === 0 ? "" : `${ports.join("\n")}\n`;
        const all = `http_port_t                    tcp      80, 81, 443\nssh_port_t tcp 22\n${own}`;
        if (isList) return { stdout: argv.includes("-C") ? own : all };
        const [, , type = "", , protocol = "", port = ""] = words;
        if (words[0] === "-d") ports.length = 0;
        else ports.push(`${type} ${protocol} ${port}`);
        return {};
      }
      const own = contexts.length === 0 ? "" : `${contexts.join("\n")}\n`;
      if (isList) {
        const all = `/srv/.*      all files          system_u:object_r:var_t:s0\n${own}`;
        return { stdout: argv.includes("-C") ? own : all };
      }
      if (words[0] === "-d") contexts.length = 0;
      else contexts.push(`${argv.at(-1)}     all files    system_u:object_r:${words[4]}:s0`);
      return {};
    },
  };
}

describe("a state of SELinux", () => {
  test("sets the mode, now and in the configuration", async () => {
    const { ran, system } = await settleState(host(), "selinux.mode", "enforcing");
    expect(ran).toEqual(["setenforce 1"]);
    expect(system.files.get("/etc/selinux/config")).toBe(
      "# comment\nSELINUX=enforcing\nSELINUXTYPE=targeted\n",
    );
  });

  test("disables SELinux at the next boot", async () => {
    const { ran } = await settleState(host(), "selinux.mode", "Disabled");
    expect(ran).toEqual([]);
  });

  test.each([
    [{ value: true, persist: true }, "setsebool -P httpd_can_connect on"],
    [{ value: "on" }, "setsebool httpd_can_connect on"],
  ])("sets a boolean by %p", async (args, command) => {
    expect((await settleState(host(), "selinux.boolean", "httpd_can_connect", args)).ran).toEqual([command]);
  });

  test("gives a port a type, or another one", async () => {
    const added = await settleState(host(), "selinux.port_policy_present", "tcp/8080", {
      sel_type: "http_port_t",
    });
    expect(added.ran).toEqual(["semanage port -a -t http_port_t -p tcp 8080"]);
    const changed = await settleState(host(), "selinux.port_policy_present", "x", {
      ...{ sel_type: "http_port_t", protocol: "tcp", port: 22 },
    });
    expect(changed.ran).toEqual(["semanage port -m -t http_port_t -p tcp 22"]);
    const fine = await settleState(host(), "selinux.port_policy_present", "tcp/443", {
      sel_type: "http_port_t",
    });
    expect(fine.changes).toEqual({});
  });

  test("gives paths a context, and applies it", async () => {
    const path = "/srv/www(/.*)?";
    const { ran } = await settleState(host(), "selinux.fcontext_policy_present", path, { sel_type: "www_t" });
    expect(ran).toEqual([`semanage fcontext -a -f a -t www_t ${path}`]);
    const applied = await settleState(host(), "selinux.fcontext_policy_applied", "/srv/www", {
      recursive: true,
    });
    expect(applied.changes).toEqual({
      "/srv/www": { old: "unconfined_u:object_r:default_t:s0", new: "system_u:object_r:www_t:s0" },
    });
    expect(applied.ran).toEqual(["restorecon -R /srv/www"]);
  });

  test.each(["selinux.port_policy_absent", "selinux.fcontext_policy_absent"])(
    "%s leaves what the policy has",
    async (called) => {
      const name = called.includes("port") ? "tcp/443" : "/srv/.*";
      expect((await settleState(host(), called, name)).changes).toEqual({});
    },
  );
});

test.each([
  ["selinux.mode", "on", {}, "the name of the state is the mode"],
  ["selinux.port_policy_present", "http", { sel_type: "http_port_t" }, "expected a name such as tcp/8080"],
  ["selinux.fcontext_policy_absent", "-D", {}, "is not an absolute path"],
  ["selinux.boolean", "--help", { value: true }, "is not a boolean"],
])("%s refuses %p", async (called, name, args, message) => {
  expect(await failureOf(host(), called, name, args)).toContain(message);
});

test("arguments that would be options are refused", async () => {
  expect(await problemsOf("selinux.port_policy_present", { sel_type: "-D" })).toContain("expected a type");
  expect(await problemsOf("selinux.boolean", { value: "maybe" })).toContain("expected true, false");
  expect(await failureOf({}, "selinux.mode", "enforcing")).toContain("getenforce is not installed");
});
