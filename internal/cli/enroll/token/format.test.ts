import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../../../test/harness/process.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { parseYaml, plainValue } from "../../../base/yaml/yaml.ts";
import { formatToken } from "./format.ts";

const files = temporaryDirectory("token-format");
afterAll(() => files[Symbol.dispose]());
const word = "svcjoin1.hKR1cmxz_kbdodHRwczovL2xvY2Fs-aG9zdDo";

test("the command hands the token over on standard input, and no process has it as an argument", async () => {
  const line = formatToken("command", word, {});
  const stubs = 'sudo() { "$@"; }; svc-peel() { printf "%s:" "$@"; cat; }; ';
  const { code, stdout } = await runProgram(["bash", "-c", `${stubs}${line}`]);
  expect([code, stdout]).toEqual([0, `join:--token-file:-:${word}\n`]);
});

test("the user data is what cloud-init takes", async () => {
  const text = `${formatToken("cloud-init", word, {})}\n`;
  expect(text).toStartWith("#cloud-config\n");
  expect(plainValue(parseYaml(text, "user data"))).toEqual({
    write_files: [
      { path: "/etc/svc/join-token", owner: "root:root", permissions: "0600", content: `${word}\n` },
    ],
    runcmd: [
      "svc-peel join --once --token-file /etc/svc/join-token &&\nrm -f /etc/svc/join-token &&\nsystemctl enable --now svc-peel.service\n",
    ],
  });
  // Its own tool judges it where it is installed.
  const tool = Bun.which("cloud-init");
  if (tool === null) return;
  const file = join(files.path, "user-data");
  writeFileSync(file, text);
  const { code, stdout } = await runProgram([tool, "schema", "--config-file", file]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("Valid")]);
});
