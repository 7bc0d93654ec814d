import * as v from "valibot";
import { roleNameForm } from "../../base/names/names.ts";
import { peelIdFromConfig } from "../../base/names/peel-id.ts";
import { gitGlobs } from "./git.ts";
import { listOf } from "./list.ts";
import { logOptions } from "./log-options.ts";
import { operatorRoles } from "./operator-roles.ts";
import { inDataDir, inGroup, type OptionTable, option } from "./option.ts";
import { otlpOptions } from "./otlp.ts";
import { address, bool, emptyOr, oneOf, path, requiredPath, text } from "./scalar.ts";
import { schedule } from "./schedule.ts";
import { site } from "./site.ts";
import { httpsUrls, optionalBusUrl, optionalHttpsUrl } from "./url.ts";

const peelId = text({
  name: "peel id",
  placeholder: "<id>",
  schema: emptyOr((id) => void peelIdFromConfig(id)),
});

const pins = listOf({
  name: "sha256:<hex> pins",
  placeholder: "<pin>",
  item: v.pipe(
    v.string(),
    v.regex(
      /^sha256:[0-9a-f]{64}$/i,
      "expected sha256: and 64 hexadecimal digits, as svc ca fingerprint prints them",
    ),
    v.toLowerCase(),
  ),
});

const stateRefs = listOf({ name: "state names", placeholder: "<sls>", item: v.string() });

const tcti = text({ name: "tcti", placeholder: "<tcti>", schema: v.string() });

const functionPatterns = listOf({
  name: "functions",
  placeholder: "<function>",
  item: v.pipe(
    v.string(),
    v.regex(
      /^[a-z_]+\.(?:[a-z_0-9]+|\*)$/,
      "expected module.function, or module.* for all functions of a module",
    ),
  ),
});

const roleName = v.pipe(v.string(), v.regex(roleNameForm, "expected the name of a role"));

const roleNames = listOf({ name: "roles", placeholder: "<role>", item: roleName });

/** Every key of the peel daemon (specification, "Peel configuration"). */
export const peelOptions = {
  ...inGroup("Identity", {
    id: option(
      peelId,
      "",
      "id of this peel, with dots as in a host name; empty means the fully qualified host name",
    ),
  }),
  ...inGroup("Bus", {
    bus_url: option(
      optionalBusUrl,
      "",
      "URL of the message bus; only tls:// is accepted; empty means to discover it, with tls://bus:4222 as the last resort",
    ),
    bus_ca: option(
      path,
      "",
      "CA file that verifies the bus server; empty means BUS_CA_FILE, then <data>/auth/bus-ca.crt, then the host's trust store",
      { variable: "BUS_CA_FILE" },
    ),
    bus_tls_cert: option(path, "", "client certificate for the bus, together with bus_tls_key"),
    bus_tls_key: option(path, "", "private key of bus_tls_cert"),
    site: option(
      site,
      "",
      "site of this peel, whose bus it tries first; empty means the site in its credentials, from its label site",
    ),
  }),
  ...inGroup("Enrollment", {
    master_url: option(optionalHttpsUrl, "", "https:// URL of the master to enroll with"),
    master_urls: option(
      httpsUrls,
      [],
      "https:// URLs of several masters, in the order to try; overrides master_url",
    ),
    enroll_ca: option(path, "", "CA file that verifies the master; no other CA is accepted"),
    enroll_ca_pin: option(
      pins,
      [],
      "pins of the master's root certificate, as svc ca fingerprint prints them",
    ),
    enroll_trust: option(
      oneOf(["tofu", "strict"]),
      "tofu",
      "tofu trusts the CA that the master serves at first enrollment; strict never does",
    ),
    "evidence.x509_cert": option(
      path,
      "",
      "certificate chain of this host in PEM, as evidence for masters that accept it, together with evidence.x509_key",
    ),
    "evidence.x509_key": option(path, "", "private key of evidence.x509_cert"),
    "evidence.ssh_host_key": option(
      path,
      "",
      "private SSH host key of this host, as evidence for masters that accept it; a certificate for it is read from <path>-cert.pub",
    ),
    "evidence.tpm": option(
      bool,
      false,
      "prove the TPM 2.0 of this host with tpm2-tools, as evidence for masters that accept it; a host without one enrolls without it",
    ),
    "evidence.tpm_tools": option(
      path,
      "",
      "directory of the commands of tpm2-tools; empty means that the system finds them",
    ),
    "evidence.tpm_tcti": option(
      tcti,
      "",
      "how tpm2-tools reach the TPM, as TPM2TOOLS_TCTI, such as device:/dev/tpmrm0; empty means their default",
    ),
  }),
  ...inGroup("Operators", {
    require_operator: option(
      oneOf(["off", "on"]),
      "off",
      "on obeys a command only when an operator signed it for this peel; off obeys the masters",
    ),
    automation_functions: option(
      functionPatterns,
      ["state.highstate", "state.apply", "test.*"],
      "functions that masters may run without an operator, for the reactor and policies; only with require_operator: on",
    ),
    release_roles: option(
      roleNames,
      [],
      "roles whose operators may release state files for this peel, besides admin; only with require_operator: on",
    ),
    release_environments: option(
      gitGlobs,
      ["base"],
      "patterns of environments whose state files may run here once an operator released them; only with require_operator: on",
    ),
  }),
  ...inGroup(
    "Operators",
    {
      operator_roles: option(
        operatorRoles,
        new Map([
          ["admin", ["*"]],
          ["operator", ["*"]],
        ]),
        "which functions operators may request, by their role: a map of roles to patterns of functions; only with require_operator: on",
      ),
    },
    { flag: null },
  ),
  ...inGroup("States", {
    states_cache: option(requiredPath, inDataDir("states-cache"), "directory of the state file cache"),
    startup_states: option(
      oneOf(["highstate", "sls", ""]),
      "",
      "what to apply at start: highstate, the states of startup_sls_list (sls), or nothing",
    ),
    startup_sls_list: option(
      stateRefs,
      [],
      "states to apply at start, in order; only with startup_states: sls",
    ),
    salt_compat: option(
      oneOf(["strict", "salt"]),
      "strict",
      "strict refuses unknown arguments and undefined values; salt reads state files as Salt does, and warns",
    ),
    "templates.host_functions": option(
      oneOf(["none", "read", "command"]),
      "read",
      "what templates may call on this host: nothing, functions that only read it, or also cmd.run and its kin",
    ),
  }),
  ...inGroup("Schedule", {
    schedule: option(
      schedule,
      [],
      "scheduled jobs: entries with module, args, interval or cron, splay, maxrunning, run_on_start, return_job, enabled",
    ),
  }),
  ...inGroup("Health and logs", {
    health_addr: option(
      address,
      { host: "127.0.0.1", port: 9090 },
      "address of /healthz, /readyz and /metrics; while another program listens there, health is off",
    ),
  }),
  ...logOptions,
  ...otlpOptions,
} satisfies OptionTable;
