import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseYaml } from "../../base/yaml/yaml.ts";
import { valueOfFlag } from "./flags.ts";
import { masterProgram } from "./master.ts";
import { flagOf, type OptionTable } from "./option.ts";
import { peelProgram } from "./peel.ts";
import { loadConfig } from "./resolve.ts";

const pin = (digit: string) => `sha256:${digit.repeat(64)}`;
const entry = (module: string) => JSON.stringify({ n: { module, interval: "5m", args: { a: [1, null] } } });

/** Two values of every key, as its flag takes them; a new key needs a row here. */
const samples: Record<string, readonly [string, string]> = {
  id: ["web1.example.com", "db-2"],
  bus_url: ["tls://a:1", "tls://b:2"],
  bus_ca: ["/a b/ca.crt", ""],
  bus_tls_cert: ["/c", "d.crt"],
  bus_tls_key: ["/k", "d: #.key"],
  bus_advertise_urls: ["tls://a:1,tls://10.0.0.1", ""],
  storage_replicas: ["0", "5"],
  storage_create: ["true", "false"],
  "jobs.max_bytes": ["64MiB", "8GiB"],
  "audit.retention": ["24h", "9600h"],
  "approvals.ttl": ["1h", "24h"],
  embedded_bus: ["true", "false"],
  embedded_bus_dir: ["/a", "/b"],
  embedded_bus_only: ["true", "false"],
  embedded_bus_path: ["/a", ""],
  auth_dir: ["/a", "/b"],
  decisions_log: ["/a", "/b"],
  roles_file: ["/a", "/b"],
  states_dir: ["/a", "/b"],
  settings_dir: ["/a", "/b"],
  health_addr: ["[::1]:0", ":9000"],
  log_level: ["debug", "error"],
  log_format: ["json", "text"],
  "otlp.endpoint": ["https://collector.example.com:4318", "http://127.0.0.1:4318"],
  "otlp.headers_file": ["/a", ""],
  "otlp.ca": ["/a", ""],
  "otlp.sample": ["0", "0.25"],
  "enroll.addr": ["0.0.0.0:443", "[::]:8443"],
  "enroll.tls_cert": ["/a", "/b"],
  "enroll.tls_key": ["/a", "/b"],
  "enroll.max_pending": ["1", "500"],
  "enroll.pending_ttl": ["1s", "48h"],
  "enroll.creds_validity": ["1m", "87600h"],
  "enroll.recovery_window": ["0s", "48h"],
  "enroll.on_clone": ["alert", "revoke"],
  "states.check": ["syntax", "compile"],
  "states.salt_compat": ["salt", "strict"],
  "states.require_release": ["true", "false"],
  "settings.strict_facts": ["true", "false"],
  "enroll.evidence.x509_ca": ["/a", ""],
  "enroll.evidence.x509_names": ["peel", "any"],
  "enroll.evidence.ssh_known_hosts": ["/a", ""],
  "enroll.evidence.tpm_ca": ["/a", ""],
  "enroll.policy": ["/a", "/b"],
  "enroll.policy_webhook_allow": ["cmdb.example.com", "192.0.2.0/24,10.0.0.1"],
  "api.docs_enabled": ["true", "false"],
  "console.enabled": ["true", "false"],
  "api.oidc_keys_dir": ["/a", "/b"],
  "operators.require_signed": ["true", "false"],
  "ca.mode": ["embedded", "external"],
  "ca.dir": ["/a", "/b"],
  "ca.enroll_cert_validity": ["1h30m", "2s"],
  "enroll.advertise_urls": ["https://a:1,https://10.0.0.1", "https://b"],
  "ca.enroll_sans": ["10.0.0.1,::1,*.example.com", "svc"],
  "gitfs.remotes": ["git@host:a.git", "https://host/b.git,ssh://git@host/c"],
  "gitfs.base": ["main", "release/1"],
  "gitfs.environments": ["release/*,dev", "*"],
  "gitfs.tags": ["v*", ""],
  "gitfs.max_bytes": ["1MiB", "2GiB"],
  "gitfs.max_environments": ["0", "9"],
  "gitfs.interval": ["1m", "2h"],
  "gitfs.ssh_key": ["/a", "/b"],
  "budget.hello": ["0", "9"],
  "budget.requests": ["0", "9"],
  "budget.messages": ["0", "9"],
  "budget.bytes": ["1", "1000000"],
  "budget.connections": ["0", "9"],
  "budget.log_lines": ["0", "9"],
  "budget.suspend": ["true", "false"],
  "reactor.enabled": ["true", "false"],
  "reactor.dir": ["/a", "/b"],
  "reactor.workers": ["1", "9"],
  "reactor.max_chain_depth": ["0", "9"],
  "reactor.enable_chaining": ["true", "false"],
  "reactor.default_throttle": ["0", "500ms"],
  "reactor.source_rate_limit": ["0", "9"],
  "reactor.max_event_age": ["0", "2h"],
  "reactor.storm_rate": ["0", "9"],
  "reactor.breaker_cooldown": ["1s", "2h"],
  "reactor.webhook_allow": ["hooks.example.com", "127.0.0.1,169.254.0.0/16,fd00::/8"],
  master_url: ["https://a:8443", ""],
  master_urls: ["https://a:8443,https://b", ""],
  enroll_ca: ["/a", "/b"],
  enroll_ca_pin: [pin("a"), `${pin("b")},${pin("0")}`],
  enroll_trust: ["tofu", "strict"],
  site: ["berlin", ""],
  "evidence.x509_cert": ["/a", ""],
  "evidence.x509_key": ["/a", ""],
  "evidence.ssh_host_key": ["/a", ""],
  "evidence.tpm": ["true", "false"],
  "evidence.tpm_tools": ["/a", ""],
  "evidence.tpm_tcti": ["device:/dev/tpmrm0", ""],
  require_operator: ["off", "on"],
  automation_functions: ["test.ping,state.*", ""],
  release_roles: ["releaser,lead", ""],
  release_environments: ["base,stage-*", "base"],
  states_cache: ["/a", "/b"],
  startup_states: ["highstate", ""],
  startup_sls_list: ["web,db.main", ""],
  salt_compat: ["salt", "strict"],
  "templates.host_functions": ["none", "command"],
  schedule: [entry("test.ping"), entry("state.apply")],
};

const programs = [masterProgram, peelProgram];

describe.each(programs)("$name", (program) => {
  const options: OptionTable = program.options;
  const withFlags = Object.entries(options).flatMap(([key, declared]) => {
    const flag = flagOf(key, declared);
    return flag === undefined ? [] : [{ key, flag, type: declared.type }];
  });
  // Without the rules between keys: one key at a time is under test.
  const load = (argv: readonly string[], file?: string) =>
    loadConfig({ ...program, options, argv, env: {}, readFile: () => file });
  const resolved = (key: string, argv: readonly string[], file?: string) => {
    const loaded = load(argv, file);
    if (loaded.kind !== "run") throw new Error(`unexpected ${loaded.kind}`);
    return loaded.values[key];
  };
  const fileWith = (key: string, value: string) => {
    const names = key.split(".");
    return `${names.map((name, depth) => `${"  ".repeat(depth)}${name}:`).join("\n")} ${value}\n`;
  };

  test("a flag beats the file, and the file beats the default, for every key", () => {
    const cases = fc.record({
      at: fc.nat(withFlags.length - 1),
      file: fc.option(fc.constantFrom(0, 1)),
      flag: fc.option(fc.constantFrom(0, 1)),
    });
    const defaults = load([]);
    fc.assert(
      fc.property(cases, ({ at, file, flag }) => {
        const option = withFlags[at];
        if (option === undefined || defaults.kind !== "run") throw new Error("unreachable");
        const sample = samples[option.key];
        if (sample === undefined) throw new Error(`${option.key} has no row in samples`);
        const parsed = sample.map((text) => valueOfFlag(option.type, [text]));
        const content =
          file === null ? undefined : fileWith(option.key, option.type.format(parsed[file ?? 0]));
        const argv = flag === null ? [] : [`--${option.flag}=${sample[flag ?? 0]}`];
        const expected = flag ?? file;
        expect(resolved(option.key, argv, content)).toEqual(
          expected === null ? defaults.values[option.key] : parsed[expected],
        );
      }),
      { numRuns: 1500 },
    );
  });

  test.each(withFlags.map(({ key }) => key))("%s has two samples and a documented default", (key) => {
    expect(samples[key]).toBeDefined();
    expect(options[key]?.doc).toMatch(/[^.]$/);
  });

  test("the output of --print-config reads back to the same values", () => {
    const argv = withFlags.map(({ key, flag }) => `--${flag}=${samples[key]?.[0]}`);
    const printed = load([...argv, "--print-config"]);
    const direct = load(argv);
    const again = load([], printed.kind === "print" ? printed.text : "");
    if (direct.kind !== "run" || again.kind !== "run") throw new Error("does not run");
    expect(again.values).toEqual(direct.values);
  });

  test("--print-config names default, file and line, and flag as origins", () => {
    const printed = load(["--log-level=debug", "--print-config"], "\nlog_format: text\n");
    if (printed.kind !== "print") throw new Error("does not print");
    expect(printed.text).toContain("\nlog_level: debug # flag --log-level\n");
    expect(printed.text).toContain(`\nlog_format: text # ${program.defaultFile}:2\n`);
    expect(printed.text).toMatch(/\nbus_ca: "" # default\n/);
    expect(parseYaml(printed.text, "printed").kind).toBe("map");
  });

  test("--print-config names the variables that a value follows from", () => {
    const printed = (env: Record<string, string>, file?: string) => {
      const argv = ["--print-config"];
      const loaded = loadConfig({ ...program, options, argv, env, readFile: () => file });
      if (loaded.kind !== "print") throw new Error("does not print");
      return loaded.text;
    };
    const env = { SVC_DATA_DIR: "/d", BUS_CA_FILE: "/ca.crt" };
    const key = program.name === "svc-master" ? "states_dir" : "states_cache";
    const place = program.name === "svc-master" ? "/d/states" : "/d/states-cache";
    expect(printed(env)).toContain(`\n${key}: ${place} # environment SVC_DATA_DIR\n`);
    expect(printed(env)).toContain('\nbus_ca: "" # environment BUS_CA_FILE\n');
    expect(printed(env)).toContain("\nlog_level: info # default\n");
    const file = `${key}: /data/x\nbus_ca: /own.crt\n`;
    expect(printed(env, file)).toContain(`\n${key}: /data/x # ${program.defaultFile}:1\n`);
    expect(printed(env, file)).toContain(`\nbus_ca: /own.crt # ${program.defaultFile}:2\n`);
    expect(printed({})).not.toContain("# environment");
  });
});

test("--print-config shows no secret, wherever one was written", () => {
  const seed = `SU${"A".repeat(56)}`;
  const file = `schedule: {n: {module: cmd.run, interval: 1m, args: {cmd: "x ${seed}", db_password: hunter2}}}`;
  const printed = loadConfig({ ...peelProgram, argv: ["--print-config"], env: {}, readFile: () => file });
  if (printed.kind !== "print") throw new Error("does not print");
  expect(printed.text).toContain('"cmd":"x [redacted]","db_password":"[redacted]"');
  expect(printed.text).not.toMatch(/SUAAAA|hunter2/);
  expect(parseYaml(printed.text, "printed").kind).toBe("map");
});
