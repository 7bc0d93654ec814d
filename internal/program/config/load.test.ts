import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { meaningOf, SvcError } from "../../base/errors.ts";
import { loadMasterConfig } from "./master.ts";
import { loadPeelConfig } from "./peel.ts";
import { dataDir } from "./resolve.ts";

const seed = `SU${"A".repeat(56)}`;

function failure(run: () => unknown): { exit: number; message: string } {
  try {
    run();
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    return { exit: meaningOf(thrown.kind).exit, message: thrown.message };
  }
  throw new Error("it did not fail");
}

function master(argv: readonly string[], file?: string, env = {}) {
  const loaded = loadMasterConfig(argv, env, () => file);
  if (loaded.kind !== "run") throw new Error(`unexpected ${loaded.kind}`);
  return loaded;
}

function peel(argv: readonly string[], file?: string) {
  const loaded = loadPeelConfig(argv, {}, () => file);
  if (loaded.kind !== "run") throw new Error(`unexpected ${loaded.kind}`);
  return loaded;
}

const f = "/etc/svc/master.yaml";
const p = "/etc/svc/peel.yaml";

describe("refusals of the master's file", () => {
  test.each([
    ["enrol: {}", `${f}:1:1: unknown key "enrol" (did you mean enroll?)`],
    ["log_level: info\nenroll:\n  adr: x", `${f}:3:3: unknown key "enroll.adr" (did you mean enroll.addr?)`],
    ["enroll.addr: :1", `${f}:1:1: unknown key "enroll.addr": write it nested, as enroll: {addr: ...}`],
    ["enroll: {addr.x: 1}", `${f}:1:10: unknown key "enroll.addr.x" (did you mean enroll.addr?)`],
    ["__proto__: 1", `${f}:1:1: unknown key "__proto__"`],
    ["constructor: 1", `${f}:1:1: unknown key "constructor"`],
    ["enroll: x", `${f}:1:9: enroll: expected a map of keys, found a string`],
    ["- a", `${f}:1:1: expected a map of keys, found a list`],
    ["a", `${f}:1:1: expected a map of keys, found a string`],
    ["bus_ca: 1", `${f}:1:9: bus_ca: expected a string, found a number: put it in quotes`],
    ["bus_ca:", `${f}:1:8: bus_ca: expected a string, found nothing`],
    ["storage_replicas: 6", `${f}:1:19: storage_replicas: expected a whole number from 0 to 5, not 6`],
    ["storage_replicas: 1.5", `${f}:1:19: storage_replicas: expected a whole number from 0 to 5, not 1.5`],
    [
      'storage_replicas: "1"',
      `${f}:1:19: storage_replicas: expected a whole number from 0 to 5, found a string`,
    ],
    ["reactor: {enabled: yes}", `${f}:1:20: reactor.enabled: expected true or false, found a string`],
    ["ca: {enroll_cert_validity: 90}", `${f}:1:28: ca.enroll_cert_validity: "90" is not a duration`],
    ["ca: {enroll_cert_validity: 0}", `${f}:1:28: ca.enroll_cert_validity: expected 1s or longer`],
    ["ca: {mode: imbedded}", `not "imbedded" (did you mean embedded?)`],
    ["ca: {enroll_sans: svc}", `${f}:1:19: ca.enroll_sans: expected a list of DNS names`],
    ["ca:\n  enroll_sans:\n  - svc\n  - 'a b'", `${f}:4:5: ca.enroll_sans: "a b" is neither a DNS name`],
    ["log_level: trace", `${f}:1:12: log_level: expected one of debug, info, warn, error, not "trace"`],
    ["log_format: xml", `${f}:1:13: log_format: expected one of json, text, journal, not "xml"`],
    ["bus_url: nats://bus:4222", `${f}:1:10: bus_url: only tls:// is accepted, not nats://`],
    ['bus_url: ""', `${f}:1:10: bus_url: expected tls://host:port`],
    [
      "bus_advertise_urls: ['tls://a', 'tls://2130706433']",
      `${f}:1:33: bus_advertise_urls: a loopback address`,
    ],
    ["health_addr: 9091", `${f}:1:14: health_addr: expected a string, found a number`],
    ["health_addr: localhost", `${f}:1:14: health_addr: expected host:port`],
    ["health_addr: '[::g]:1'", `${f}:1:14: health_addr: expected host:port`],
    ["health_addr: ':65536'", `${f}:1:14: health_addr: expected host:port`],
    [
      "api: {tokens: {}}",
      `${f}:1:15: api.tokens: expected a list of {username, token_file, roles, expires}, found a map`,
    ],
    [
      "api:\n  tokens:\n  - usernam: a",
      `${f}:3:5: api.tokens: unknown key "usernam" (did you mean username?)`,
    ],
    [
      "api:\n  tokens:\n  - username: [a]",
      `${f}:3:15: api.tokens: username: expected a string, found a list`,
    ],
    [
      "api: {tokens: [{roles: admin}]}",
      `${f}:1:24: api.tokens: roles: expected a list of roles, found a string`,
    ],
    ["api: {tokens: [{roles: [Admin]}]}", `${f}:1:25: api.tokens: roles: "Admin" is not the name of a role`],
    ["api: {tokens: [{roles: []}]}", `${f}:1:24: api.tokens: roles: an empty list; leave it out for [admin]`],
    ["api: {tokens: [{expires: 2027-01-31}]}", `${f}:1:26: api.tokens: expires: expected a time such as`],
    [
      "api: {tokens: [{expires: 2027-13-31T00:00:00Z}]}",
      `${f}:1:26: api.tokens: expires: expected a time such as`,
    ],
    [
      "api: {tokens: [{expires: 2027-01-31T00:00:00}]}",
      `${f}:1:26: api.tokens: expires: expected a time such as`,
    ],
    [
      "api: {oidc: {}}",
      "api.oidc: expected a list of {issuer, audience, username_claim, role_claims, ca_file, max_age, client_id, scope}",
    ],
    ["api: {oidc: [{audience: a}]}", `${f}:1:14: api.oidc: issuer is missing`],
    ...[
      ["http://idp.example.com", "expected an issuer with https://"],
      ["idp.example.com", "expected an issuer with https://"],
      ["https://a:b@idp.example.com", "an issuer has a host, a port and a path, and nothing else"],
      ["https://idp.example.com?x", "an issuer has a host, a port and a path, and nothing else"],
      [`https://idp.example.com/${"a".repeat(100)}`, "expected at most 120 characters"],
    ].map(([issuer, message]) => [
      `api: {oidc: [{issuer: "${issuer}"}]}`,
      `${f}:1:23: api.oidc: issuer: ${message}`,
    ]),
    ["api: {oidc: [{issuer: https://i}]}", "api.oidc: audience is missing"],
    [
      "api: {oidc: [{issuer: https://i, audience: a}]}",
      "api.oidc: role_claims is missing: without them nobody has a role",
    ],
    [
      "api: {oidc: [{issuer: https://i, audience: a, role_claims: [{claim: c, vale: x}]}]}",
      'api.oidc: role_claims: unknown key "vale" (did you mean value?)',
    ],
    [
      "api: {oidc: [{issuer: https://i, audience: a, role_claims: [{claim: c, value: x}]}]}",
      "api.oidc: role_claims: expected claim, value and role",
    ],
    [
      "api: {oidc: [{issuer: https://i, audience: a, role_claims: [{claim: c, value: x, role: R}]}]}",
      'api.oidc: role_claims: role: "R" is not the name of a role',
    ],
    [
      `api: {oidc: [${"{issuer: https://i, audience: a, role_claims: [{claim: c, value: x, role: r}]}, ".repeat(2)}]}`,
      "api.oidc: the issuer https://i appears twice",
    ],
    ["bus_tls_cert: /a", `${f}:1:15: bus_tls_cert: needs bus_tls_key as well`],
    ["bus_tls_key: /a", `${f}:1:14: bus_tls_key: needs bus_tls_cert as well`],
    ["master: {url: x}", `${f}:1:10: unknown key "master.url" (did you mean master.urls?)`],
    ["master: {urls: ['nats://x']}", `${f}:1:17: master.urls: only tls:// is accepted`],
    ["gitfs: {remotes: ['--upload-pack=x']}", "gitfs.remotes: a Git URL may not start with a hyphen"],
    ["gitfs: {remotes: ['https://a:b@host/c']}", "gitfs.remotes: a Git URL may not hold credentials"],
    ["gitfs: {remotes: ['https://token@host/c']}", "gitfs.remotes: a Git URL may not hold credentials"],
    [
      "gitfs: {remotes: [{url: 'https://a:b@host/c'}]}",
      "gitfs.remotes: url: a Git URL may not hold credentials",
    ],
    ["gitfs: {remotes: ['']}", "gitfs.remotes: expected the URL of a repository"],
    ["gitfs: {remotes: [{base: main}]}", "gitfs.remotes: url is missing"],
    ["gitfs: {remotes: [[a]]}", "gitfs.remotes: "],
    ["gitfs: {remotes: a}", "gitfs.remotes: expected a list of Git URLs, found a string"],
    ["gitfs: {remotes: [a, {url: a, base: x}]}", "gitfs.remotes: a appears twice"],
    // These come with a later version; until then nobody may believe that they have an effect.
    ["gitfs: {remotes: [{url: a, root: x}]}", 'gitfs.remotes: unknown key "root"'],
    ["gitfs: {remotes: [{url: a, provides: [settings]}]}", 'gitfs.remotes: unknown key "provides"'],
    ["gitfs: {remotes: [{url: a, hook: {name: x}}]}", 'gitfs.remotes: unknown key "hook"'],
    ["gitfs: {remotes: [{url: a, master_signers: /f}]}", 'gitfs.remotes: unknown key "master_signers"'],
    [
      "gitfs: {remotes: [{url: a, environments: dev}]}",
      "gitfs.remotes: environments: expected a list of patterns",
    ],
    ["gitfs: {remotes: [{url: a, signers: ''}]}", "gitfs.remotes: signers: expected a path"],
    ["gitfs: {base: refs/heads/main}", "gitfs.base: expected the name of a branch, without refs/heads/"],
    ["gitfs: {base: ''}", 'gitfs.base: "" is not the name of a branch'],
    ["gitfs: {base: a..b}", 'gitfs.base: "a..b" is not the name of a branch'],
    [
      "gitfs: {environments: ['release/[0-9']}",
      'gitfs.environments: "release/[0-9" has a [ that nothing closes',
    ],
    ["gitfs: {tags: [refs/tags/v*]}", "gitfs.tags: expected the name of a branch or tag"],
    ["gitfs: {max_environments: 256}", "gitfs.max_environments: expected"],
    ["gitfs: {max_bytes: 1KiB}", "gitfs.max_bytes: expected 1MiB or more"],
    [
      "reactor: {webhook_allow: ['*.example.com']}",
      'reactor.webhook_allow: "*.example.com" is neither a host name',
    ],
    [
      "reactor: {webhook_allow: ['127.0.0.1/33']}",
      'reactor.webhook_allow: "127.0.0.1/33" is neither a host name',
    ],
    [
      "reactor: {webhook_allow: ['127.0.0.1234']}",
      'reactor.webhook_allow: "127.0.0.1234" is neither a host name',
    ],
    ["log_level: info\nlog_level: info", `${f}:2:1: the key "log_level" appears twice`],
  ])("%j", (file, message) => {
    const failed = failure(() => master([], file));
    expect(failed.message).toStartWith(f);
    expect(failed.message).toContain(message);
    expect(failed.exit).toBe(1);
  });
});

describe("refusals of the peel's file", () => {
  test.each([
    ["enroll_ca_pn: []", `${p}:1:1: unknown key "enroll_ca_pn" (did you mean enroll_ca_pin?)`],
    ["enroll_ca_pin: [sha256:ab]", `${p}:1:17: enroll_ca_pin: expected sha256: and 64 hexadecimal digits`],
    ["enroll_trust: tofo", `(did you mean tofu?)`],
    ["id: a_b", `${p}:1:5: id: id "a_b" may not contain "_"`],
    ["master_url: http://a:8443", `${p}:1:13: master_url: expected https://host:port`],
    ["master_urls: ['https://u:p@a']", "master_urls: a URL may not hold a user name or password"],
    ["master_urls: ['https://a/b']", "master_urls: nothing may follow the host and port"],
    ["startup_states: high", `${p}:1:17: startup_states: expected one of highstate, sls, ""`],
    ["startup_sls_list: [a]", `${p}:1:19: startup_sls_list: only allowed with startup_states: sls`],
    ["startup_states: highstate\nstartup_sls_list: [a]", `${p}:2:19: startup_sls_list: only allowed`],
    ["bus_tls_key: /a", "bus_tls_key: needs bus_tls_cert as well"],
    ["master: {}", `${p}:1:1: unknown key "master"`],
    ["schedule: {a: {interval: 5m}}", `${p}:1:15: schedule: entry "a": module is missing`],
    ["schedule: {a: {module: m}}", `entry "a": exactly one of interval and cron is required`],
    ["schedule: {a: {module: m, interval: 5m, cron: '* * * * *'}}", "exactly one of interval and cron"],
    [
      "schedule: {a: {module: m, interval: 5}}",
      `${p}:1:37: schedule: entry "a": interval: "5" is not a duration`,
    ],
    [
      "schedule: {a: {modul: m}}",
      `${p}:1:16: schedule: entry "a": unknown key "modul" (did you mean module?)`,
    ],
    ["schedule: {a: {module: m, cron: daily}}", "expected a cron expression"],
    [
      "schedule: {a: {module: m, cron: '61 * * * *'}}",
      `${p}:1:33: schedule: entry "a": cron: not a cron expression: Invalid value for minute: 61`,
    ],
    [
      "schedule: {a: {module: m, cron: '0 0 30 2 *'}}",
      `${p}:1:33: schedule: entry "a": cron: the cron expression names a date that never occurs`,
    ],
    [`schedule: {${"a".repeat(129)}: {module: m, interval: 1s}}`, "expected a name of 1 to 128 characters"],
    ["schedule: []", "expected a map of schedule entries, found a list"],
  ])("%j", (file, message) => {
    const failed = failure(() => peel([], file));
    expect(failed.message).toStartWith(p);
    expect(failed.message).toContain(message);
    expect(failed.exit).toBe(1);
  });
});

describe("refusals of flags exit 2 and name the flag", () => {
  test.each([
    [["--bus-ur=x"], "unknown flag --bus-ur (did you mean --bus-url?)"],
    [["--api-tokens=x"], "unknown flag --api-tokens"],
    [["--api-docs-enabled"], "unknown flag --api-docs-enabled"],
    [["--no-bus-url"], "unknown flag --no-bus-url"],
    [["--__proto__"], "unknown flag --__proto__"],
    [["--constructor=1"], "unknown flag --constructor"],
    [["-x"], "unknown flag -x"],
    [["--"], undefined],
    [["run"], "unexpected argument run"],
    [["--", "--log-level"], "unexpected argument --log-level"],
    [["--log-level"], "--log-level needs a value"],
    [["--log-level", "--log-format=text"], "--log-level needs a value"],
    [["--log-level="], '--log-level: expected one of debug, info, warn, error, not ""'],
    [["--no-reactor=false"], "--no-reactor takes no value"],
    [["--help=1"], "--help takes no value"],
    [["--reactor=1"], '--reactor: expected true or false, not "1"'],
    [["--reactor", "false"], "unexpected argument false"],
    [["--storage-replicas=-1"], "--storage-replicas: expected a whole number from 0 to 5"],
    [["--storage-replicas=1e0"], "--storage-replicas: expected a whole number from 0 to 5"],
    [["--gitfs-interval=5"], '--gitfs-interval: "5" is not a duration'],
    [["--bus-url=ws://b"], "--bus-url: only tls:// is accepted, not ws://"],
    [["--bus-advertise-urls=tls://a,,tls://b"], "--bus-advertise-urls: an item of the list is empty"],
    [["--bus-advertise-urls=tls://0x7f.1"], "--bus-advertise-urls: a loopback address"],
    [["--auth-dir="], "--auth-dir: expected a path"],
    [["--bus-tls-cert=/c"], "--bus-tls-cert: needs bus_tls_key as well"],
    [["--config="], "--config: expected the path of a file"],
  ])("%j", (argv, message) => {
    if (message === undefined) return void master(argv);
    const failed = failure(() => master(argv));
    expect(failed.message).toStartWith(message);
    expect(failed.exit).toBe(2);
  });

  test("a peel's flags too", () => {
    expect(failure(() => peel(["--id", "a_b"])).message).toStartWith('--id: id "a_b" may not');
    expect(failure(() => peel(["--schedule={a: }"])).message).toStartWith(
      '--schedule: entry "a": expected a map',
    );
    expect(failure(() => peel(["--startup-sls-list=a"])).exit).toBe(2);
  });
});

describe("values", () => {
  test("a master without a file has the defaults of the specification", () => {
    const { values, file } = master([]);
    expect(values).toMatchObject({
      bus_url: "tls://bus:4222",
      auth_dir: "/data/auth",
      health_addr: { host: "127.0.0.1", port: 9091 },
      "enroll.addr": { host: "", port: 8443 },
      "enroll.tls_cert": "/data/auth/enroll.crt",
      "ca.dir": "/data/auth/ca",
      "ca.enroll_cert_validity": 2160 * 3_600_000,
      "api.tokens": [],
      "reactor.enabled": true,
      "reactor.max_event_age": 3_600_000,
    });
    expect(file).toBeUndefined();
  });

  test("SVC_DATA_DIR moves every default below /data, and ca.dir follows auth_dir", () => {
    const moved = master([], undefined, { SVC_DATA_DIR: "/srv/x/" }).values;
    for (const value of Object.values(moved)) expect(JSON.stringify(value)).not.toContain("/data");
    expect(moved["ca.dir"]).toBe("/srv/x/auth/ca");
    const { values } = master(["--auth-dir=/a"], undefined, { SVC_DATA_DIR: "/srv/x" });
    expect(values["ca.dir"]).toBe("/a/ca");
    expect(values["enroll.tls_key"]).toBe("/srv/x/auth/enroll.key");
    expect(failure(() => dataDir({ SVC_DATA_DIR: "x" })).message).toBe(
      "SVC_DATA_DIR: expected an absolute path",
    );
    expect(dataDir({ SVC_DATA_DIR: "/" })).toBe("/");
    expect(dataDir({ SVC_DATA_DIR: "" })).toBe("/data");
  });

  test("an empty flag clears a list, and a repeated one adds to it", () => {
    const file = "master_urls: [https://a:8443/]\nenroll_ca_pin: []\n";
    expect(peel([], file).values.master_urls).toEqual(["https://a:8443"]);
    expect(peel(["--master-urls", ""], file).values.master_urls).toEqual([]);
    expect(
      peel(["--master-urls=https://b, https://c", "--master-urls=https://d"], file).values.master_urls,
    ).toEqual(["https://b", "https://c", "https://d"]);
    expect(master(["--gitfs-remotes", ""], "gitfs: {remotes: [a]}").values["gitfs.remotes"]).toEqual([]);
  });

  test("a switch has three forms, and the last of several counts", () => {
    expect(master(["--reactor"], "reactor: {enabled: false}").values["reactor.enabled"]).toBe(true);
    expect(master(["--no-reactor"]).values["reactor.enabled"]).toBe(false);
    expect(master(["--reactor=false"]).values["reactor.enabled"]).toBe(false);
    expect(master(["--no-reactor", "--reactor"]).values["reactor.enabled"]).toBe(true);
    expect(master(["--api-docs"]).values["api.docs_enabled"]).toBe(true);
  });

  test("a schedule entry has its defaults", () => {
    const [entry] = peel([], "schedule: {a: {module: test.ping, cron: '0 3 * * *', splay: 1m}}").values
      .schedule;
    expect(entry).toEqual({
      name: "a",
      module: "test.ping",
      args: {},
      cron: "0 3 * * *",
      splay: 60_000,
      maxrunning: 1,
      run_on_start: false,
      return_job: false,
      enabled: true,
    });
  });

  test("tokens, empty sections and the section of svc are read", () => {
    const { values, file } = master(
      [],
      "api: {tokens: [{username: a, token_file: /t}]}\nca:\nmaster: {urls: [tls://b]}",
    );
    expect(values["api.tokens"]).toEqual([{ username: "a", token_file: "/t" }]);
    const more = "roles: [viewer, web-team], expires: 2027-01-31T01:00:00+01:00";
    expect(
      master([], `api: {tokens: [{username: a, token_file: /t, ${more}}]}`).values["api.tokens"],
    ).toEqual([
      { username: "a", token_file: "/t", roles: ["viewer", "web-team"], expires: Date.UTC(2027, 0, 31) },
    ]);
    expect(Object.keys(values)).not.toContain("master.urls");
    expect(file).toBe(f);
  });
});

describe("the command line", () => {
  test("--help and --version win without a look at the file", () => {
    const broken = () => {
      throw new Error("the file was read");
    };
    expect(loadMasterConfig(["--help", "--log-level=x"], {}, broken).kind).toBe("help");
    expect(loadPeelConfig(["-h"], {}, broken).kind).toBe("help");
    expect(loadMasterConfig(["--version"], {}, broken).kind).toBe("version");
  });

  test("--config names the file, which must then be there", () => {
    const files: Record<string, string> = { "/x.yaml": "log_level: debug" };
    const loaded = loadMasterConfig(["--config", "/x.yaml"], {}, (path) => files[path]);
    expect(loaded.kind === "run" && [loaded.file, loaded.values.log_level]).toEqual(["/x.yaml", "debug"]);
    const failed = failure(() => loadMasterConfig(["--config", "/y.yaml"], {}, (path) => files[path]));
    expect(failed).toEqual({ exit: 1, message: "--config: /y.yaml does not exist" });
  });
});

describe("secrets", () => {
  test.each([
    `gitfs: {ssh_key: ${seed}}`,
    `api: {tokens: [{token_file: ${seed}}]}`,
    `master: {creds_file: ${seed}}`,
  ])("a pasted seed is refused and not repeated: %#", (file) => {
    const { message } = failure(() => master([], file));
    expect(message).toContain("expected the path of a file, not its content");
    expect(message).not.toContain(seed);
  });

  test("neither is one in a list where a path belongs", () => {
    expect(failure(() => master([], `enroll: {tls_key: [${seed}]}`)).message).not.toContain(seed);
    expect(failure(() => master([`--enroll-tls-key=${seed}`])).message).not.toContain(seed);
  });
});

test.each([
  [() => peel(["--config", "peel.yaml", "watchdog"]), "svc-peel watchdog --…"],
  [() => peel(["--id", "web-1", "call", "test.ping"]), "svc-peel call --…"],
  [() => master(["--log-level", "warn", "check"]), "svc-master check --…"],
])("%#: a command after the flags gets a message about its place", (run, form) => {
  const { exit, message } = failure(run);
  expect(exit).toBe(2);
  expect(message).toContain(`is a command, and a command comes first: ${form}`);
});

describe("whatever the input", () => {
  const onlySvcErrors = (run: () => unknown) => {
    try {
      run();
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(SvcError);
      expect((thrown as SvcError).message).not.toContain("\n");
    }
  };

  test("no file throws anything but a SvcError of one line", () => {
    const keys = [
      "id",
      "bus_url",
      "schedule",
      "api",
      "tokens",
      "enroll",
      "addr",
      "log_level",
      "ca",
      "master",
    ];
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom("*x", "&x y", "!!set {}", "| x", "@"));
    const lines = fc.array(
      fc.tuple(fc.constantFrom("", "  "), fc.constantFrom(...keys), value).map(([indent, key, item]) => {
        return `${indent}${key}: ${typeof item === "string" ? item : JSON.stringify(item)}`;
      }),
    );
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      lines.map((list) => list.join("\n")),
    );
    fc.assert(
      fc.property(text, (file) => {
        onlySvcErrors(() => master([], file));
        onlySvcErrors(() => peel([], file));
      }),
      { numRuns: 1500 },
    );
  });

  test("no command line does", () => {
    const names = [
      "--bus-url",
      "--schedule",
      "--reactor",
      "--no-reactor",
      "--id",
      "--health-addr",
      "--",
      "-h",
      "--master-urls",
    ];
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom(...names),
      fc.tuple(fc.constantFrom(...names), fc.string()).map((pair) => pair.join("=")),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (argv) => {
        onlySvcErrors(() => loadMasterConfig(argv, {}, () => undefined));
        onlySvcErrors(() => loadPeelConfig(argv, {}, () => undefined));
      }),
      { numRuns: 1500 },
    );
  });
});
