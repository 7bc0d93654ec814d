import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import type { Plain } from "../../base/msgpack.ts";
import { createTemplates } from "../template/mod.ts";
import type { HostAccess } from "./function.ts";
import { openHostFunctions } from "./open.ts";
import { hostFunctions } from "./table.ts";
import { splitWords } from "./words.ts";

const facts: Readonly<Record<string, Plain>> = {
  host: "web-1",
  ip4_interfaces: { lo: ["127.0.0.1"], eth0: ["192.0.2.5", "10.0.0.5"] },
};
const open = (access: HostAccess, clock = systemClock, signal = new AbortController().signal) =>
  openHostFunctions({
    access,
    context: { clock, signal, facts: { get: (path) => facts[path] } },
    random: (length) => new Uint8Array(length).fill(1),
  });
const renderer = createTemplates().renderer(async () => undefined);
const render = (text: string, access: HostAccess = "read") =>
  renderer.render({ name: "t.sls", text }, { facts: {}, settings: {}, host: open(access) });

test("functions that only read look at files, users, programs and the network", async () => {
  using directory = temporaryDirectory("host-functions");
  const at = (name: string) => join(directory.path, name);
  writeFileSync(at("file"), "one\ntwo\n", { mode: 0o640 });
  mkdirSync(at("dir"));
  symlinkSync("file", at("link"));
  const read = async (call: string) => render(`{{ salt[${call} }}`);
  for (const [call, expected] of [
    [`'file.file_exists']('${at("file")}')`, "True"],
    [`'file.file_exists']('${at("dir")}')`, "False"],
    [`'file.file_exists']('${at("file/x")}')`, "False"],
    [`'file.directory_exists']('${at("dir")}')`, "True"],
    [`'file.is_link']('${at("link")}')`, "True"],
    [`'file.readlink']('${at("link")}')`, "file"],
    [`'file.readdir']('${directory.path}')`, "['.', '..', 'dir', 'file', 'link']"],
    [`'file.read']('${at("file")}')`, "one\ntwo\n"],
    [`'file.contains']('${at("file")}', 'wo')`, "True"],
    [`'file.get_mode']('${at("file")}')`, "0640"],
    [`'file.access'](path='${at("file")}', mode='r')`, "True"],
    [`'file.path_exists_glob']('${at("f*")}')`, "True"],
    ["'user.info']('root').home", "/root"],
    ["'user.info']('no-such-user')", "{}"],
    ["'user.primary_group']('root')", "root"],
    ["'group.info']('root').gid", "0"],
    ["'cmd.which']('sh') is string", "True"],
    ["'cmd.has_exec']('no-such-program')", "False"],
    ["'network.ip_addrs']()", "['192.0.2.5', '10.0.0.5']"],
    ["'network.ip_addrs'](cidr='10.0.0.0/8')", "['10.0.0.5']"],
    ["'network.interfaces']().eth0.inet[0].address", "192.0.2.5"],
    ["'environ.get']('PATH') is string", "True"],
    ["'environ.get']('SVC_DATA_DIR', 'none')", "none"],
    ["'random.get_str'](5)|length", "5"],
  ] as const) {
    expect([call, await read(call)]).toEqual([call, expected]);
  }
});

test("a failure names the function and what was wrong", async () => {
  await expect(render("{{ salt['file.read']('/nonexistent/x') }}")).rejects.toThrow(
    "t.sls:1: salt['file.read']: ",
  );
  await expect(render("{{ salt['file.read']('/dev/null') }}")).rejects.toThrow("is not a regular file");
  await expect(render("{{ salt['user.info']() }}")).rejects.toThrow("user.info: name: missing");
});

test("a level allows what it says, and nothing more", async () => {
  const commands = "{{ salt['cmd.run']('echo hi') }}";
  await expect(render(commands)).rejects.toThrow(
    "t.sls:1: salt['cmd.run'] is not allowed here: it needs templates.host_functions: command",
  );
  await expect(render("{{ 'sh'|which }}", "none")).rejects.toThrow("it needs templates.host_functions: read");
  for (const name of hostFunctions.keys()) expect(open("none").refusal(name)).toBeString();
  expect(await render(commands, "command")).toBe("hi");
  expect(await render("{{ salt['cmd.run']('echo $HOME | cat') }}", "command")).toBe("$HOME | cat");
  expect(await render("{{ salt['cmd.shell']('echo a | tr a b; exit 3') }}", "command")).toBe("b");
  expect(await render("{{ salt['cmd.retcode']('exit 3', python_shell=True) }}", "command")).toBe("3");
  expect(await render("{{ salt['cmd.run_all'](['sh', '-c', 'echo e >&2']).stderr }}", "command")).toBe("e");
  expect(
    await render(
      "{{ salt['cmd.run']('env', env={'A': 'b'}).splitlines()|select('match', 'A=')|list }}",
      "command",
    ),
  ).toBe("['A=b']");
});

test("calls are counted, and end after their time", async () => {
  const host = open("command");
  await host.call({ name: "user.info", args: ["root"], named: {} });
  await host.call({ name: "user.info", args: ["none"], named: {} });
  expect([...host.calls]).toEqual([["user.info", 2]]);
  const clock = manualClock();
  const slow = open("command", clock).call({ name: "cmd.run", args: ["sleep 60"], named: {} });
  const ended = slow.catch(String);
  clock.advance(10_000);
  expect(await ended).toBe("SvcError: no answer within 10 s");
});

test.each([
  ["a  b", ["a", "b"]],
  ['a \'b c\' "d \\" e" f\\ g', ["a", "b c", 'd " e', "f g"]],
  ["a'b'\"c\"", ["abc"]],
  ["''", [""]],
  ["", []],
])("%j is split into words", (line, words) => {
  expect(splitWords(line)).toEqual(words);
});

test("a quote without an end is refused", () => {
  expect(() => splitWords("a 'b")).toThrow("a quote has no end");
});
