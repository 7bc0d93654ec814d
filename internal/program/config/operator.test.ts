import { describe, expect, test } from "bun:test";
import { SvcError } from "../../base/errors.ts";
import { loadOperatorConfig } from "./operator.ts";

const shared = "/etc/svc/master.yaml";
const own = "/home/ann/.svc/config.yaml";

function load(files: Record<string, string | SvcError>, configFlag?: string) {
  return loadOperatorConfig({
    configFlag,
    env: {},
    home: "/home/ann",
    readFile: (path) => {
      const content = files[path];
      if (content instanceof SvcError) throw content;
      return content;
    },
  })["master.urls"];
}

const section = (host: string) => `master: {urls: [tls://${host}]}\n`;
const denied = new SvcError("forbidden", `cannot read the configuration ${shared}: permission denied`);

describe("the configuration of svc", () => {
  test("comes from the first file with a master section", () => {
    expect(load({})).toEqual(["tls://localhost:4222"]);
    expect(load({ [shared]: section("a"), [own]: section("b") })).toEqual(["tls://a"]);
    expect(load({ [shared]: "log_level: info", [own]: section("b") })).toEqual(["tls://b"]);
    expect(load({ [shared]: "log_level: info" })).toEqual(["tls://localhost:4222"]);
    expect(load({ [shared]: `log_level: info\n${section("a")}` })).toEqual(["tls://a"]);
  });

  test("--config names the only file", () => {
    expect(load({ "/x": section("x"), [shared]: section("a") }, "/x")).toEqual(["tls://x"]);
    expect(load({ "/x": "log_level: info", [shared]: section("a") }, "/x")).toEqual(["tls://localhost:4222"]);
    expect(() => load({}, "/x")).toThrow("--config: /x does not exist");
  });

  test("a shared file that may not be read gives way to the operator's own", () => {
    expect(load({ [shared]: denied, [own]: section("b") })).toEqual(["tls://b"]);
    expect(() => load({ [shared]: denied })).toThrow("permission denied");
  });

  test("sends traces to a receiver of its own, and the one of a master does not make a file that of svc", () => {
    const traces = "otlp: {endpoint: https://collector.example.com:4318}\n";
    expect(load({ [shared]: traces, [own]: section("b") })).toEqual(["tls://b"]);
    expect(load({ [own]: `${section("b")}${traces}` })).toEqual(["tls://b"]);
  });

  test.each([
    [{ [shared]: "log_levl: info" }, `${shared}:1:1: unknown key "log_levl" (did you mean log_level?)`],
    [{ [own]: "log_level: info" }, `${own}:1:1: unknown key "log_level"`],
    [{ [own]: "master: {tls_cert: /c}" }, `${own}:1:20: master.tls_cert: needs master.tls_key as well`],
    [{ [own]: "master: {urls: tls://a}" }, `${own}:1:16: master.urls: expected a list of tls:// URLs`],
  ])("refuses %j", (files, message) => {
    expect(() => load(files)).toThrow(message);
  });
});
