import { type OptionTable, option } from "./option.ts";
import { operatorOtlpOptions } from "./otlp.ts";
import { integer, path } from "./scalar.ts";
import { busUrls } from "./url.ts";

const group = "Operator";

/** Every key of the `svc` tool (specification, "Operator CLI configuration"). They have no flags. */
export const operatorOptions = {
  "master.urls": option({
    group,
    type: busUrls,
    default: ["tls://localhost:4222"],
    doc: "URLs of the message bus",
    flag: null,
  }),
  "master.creds_file": option({
    group,
    type: path,
    default: "",
    doc: "bus credentials of the operator",
    flag: null,
  }),
  "master.nkey_seed_file": option({
    group,
    type: path,
    default: "",
    doc: "bus NKey seed of the operator, instead of a credentials file",
    flag: null,
  }),
  "master.operator_file": option({
    group,
    type: path,
    default: "",
    doc: "operator file, whose key signs requests; without creds_file also the bus credentials and addresses",
    flag: null,
  }),
  "master.tls_cert": option({
    group,
    type: path,
    default: "",
    doc: "client certificate for the bus, together with master.tls_key",
    flag: null,
  }),
  "master.tls_key": option({
    group,
    type: path,
    default: "",
    doc: "private key of master.tls_cert",
    flag: null,
  }),
  "master.tls_ca": option({
    group,
    type: path,
    default: "",
    doc: "CA file that verifies the bus server",
    flag: null,
  }),
  "master.confirm_above": option({
    group,
    type: integer(0, 1_000_000),
    default: 25,
    doc: "number of peels above which svc run asks the person at a terminal before it runs anything",
    flag: null,
  }),
  ...operatorOtlpOptions,
} satisfies OptionTable;
